// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/fd.hpp"
#include "base/file_identity.hpp"
#include "base/result.hpp"

// The seam between Millrace and the operating system's files.
namespace millrace::io {

using Handle = std::uint32_t;  // an adopted file

inline constexpr std::uint64_t direct_alignment = 4096;  // of offset, length and memory on a direct handle

enum class Op : std::uint8_t {
  write,      // all of `data` at `offset`; short writes are continued inside
  writeback,  // start writing [offset, offset + length) of the page cache to the disk; a hint, never an error
  datasync,   // everything completed before this was submitted is on stable storage when it completes
  read,       // fill `data` from `offset`; result = bytes, less at end of file
};

// `data` points at memory that stays valid and unchanged until the completion is taken. A part of a write
// whose iov_base is null is a gap: so many bytes of the file stay as they are. Gaps cost no round trip, so
// many small pieces can go as one request; there is none at its end and none on a direct handle.
struct Request {
  Op op = Op::write;
  Handle file = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::vector<iovec> data;
  std::uint64_t token = 0;  // comes back in the completion
};

struct Completion {
  std::uint64_t token = 0;
  Status status;
  std::uint64_t bytes = 0;  // transferred, gaps not counted; after an error, the bytes before it
  std::uint64_t begin_ns = 0, end_ns = 0;  // by a steady clock, when it was carried out; 0: not told
};

// Carries out requests, in any order and overlapping in time. A caller that needs an order waits for
// completions. Every request is completed exactly once, in all cases. Not thread safe: one thread calls.
// Implementations: posix/ (threads with pwritev), uring/ (io_uring), virtual/ (in memory, with faults by
// seed).
class Storage {
 public:
  virtual ~Storage() = default;

  // Takes a descriptor that is open for writing, and keeps it under its number until release(). `direct`:
  // requests on it are aligned to direct_alignment and may bypass the page cache. If the file system refuses
  // that, they go through it.
  virtual Result<Handle> adopt(Fd file, bool direct) = 0;
  // Nothing may be in flight on the handle.
  virtual void release(Handle file) = 0;

  // Gets or sets the size of the file, at once, without waiting for requests in flight.
  virtual Result<std::uint64_t> size(Handle file) = 0;
  virtual Status resize(Handle file, std::uint64_t bytes) = 0;
  // Writes a few bytes at once, into the page cache of a handle that is not direct. No write in flight may
  // overlap them.
  virtual Status put(Handle file, std::uint64_t offset, std::span<const std::byte> data) = 0;

  // The identity of an open file. `for_good`: a journal is made for the file and has to recognise it later
  // (posix/identity.hpp).
  virtual Result<FileIdentity> identify(const Fd& file, bool for_good) = 0;

  virtual void submit(Request request) = 0;
  // Requests submitted since the last call may be held back until this is called.
  virtual void kick() = 0;
  // Completions that are there now, appended to `out`; never blocks.
  virtual void poll(std::vector<Completion>& out) = 0;
  // Becomes readable when poll() would return something; -1 if there is no such descriptor.
  virtual int event_fd() const = 0;
};

}  // namespace millrace::io
