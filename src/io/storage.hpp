// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "base/file_identity.hpp"
#include "base/result.hpp"
#include "io/clock.hpp"

// The interface between Millrace and the operating system's files.
namespace millrace::io {

using Handle = std::uint32_t;  // an adopted file

inline constexpr std::uint64_t direct_alignment = 4096;  // of offset, length and memory on a direct handle

enum class Op : std::uint8_t {
  write,      // all of `data` at `offset`; the storage continues short writes itself
  writeback,  // start writing [offset, offset + length) of the page cache to the disk; a hint, never fails
  datasync,   // brings all writes to stable storage that completed before this was submitted
  read,       // fill `data` from `offset`; the completion has the bytes read, fewer at the end of the file
  look,       // the file's state, with all writes that completed before this was submitted
  close,      // tells what close(2) tells, such as that a network file system lost bytes that it had accepted
  resize,     // gives the file `length` bytes
  call,       // `act`, by a thread that may wait for any file system; needs no file
};

inline constexpr std::size_t op_count = static_cast<std::size_t>(Op::call) + 1;

// The memory of `data` stays valid and unchanged until the caller has taken the completion. A part of a write
// with a null iov_base is a gap: iov_len bytes of the file do not change. With gaps, many small pieces are
// one request. A request does not end with a gap. A request on a direct handle has no gaps.
struct Request {
  Op op = Op::write;
  Handle file = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::vector<iovec> data;
  std::uint64_t token = 0;  // the completion repeats it
  bool last = false;  // of a close: the handle's own descriptor is closed, and only release() may follow
  std::function<Status()> act = {};  // of a call
};

struct Completion {
  std::uint64_t token = 0;
  Status status;
  std::uint64_t bytes = 0;  // transferred bytes without gaps; after an error, the bytes before it
  std::uint64_t begin_ns = 0, end_ns = 0;  // the times of carrying it out, from a steady clock; 0: unknown
  FileState state = {};                    // the answer to a look
  bool direct = false;  // of a write or read: it went past the page cache, as the handle asks
};

// Carries out requests, in any order and overlapping in time. A caller that needs an order waits for
// completions. Every request gets exactly one completion. Not thread safe: one thread calls. Implementations:
// posix/ (threads with pwritev), uring/ (io_uring), virtual/ (in memory, with random faults).
//
// adopt(), release(), size(), recognise(), submit(), kick() and poll() never wait for a file system.
class Storage {
 public:
  virtual ~Storage() = default;

  // Takes a descriptor that is open for writing, or for reading if no request writes, and keeps it until
  // release(). A descriptor with O_PATH is opened for reading at the first request. `direct`: requests on the
  // handle are aligned to direct_alignment and may bypass the page cache. If the file system refuses that, at
  // open or at a write, they use the page cache.
  virtual Result<Handle> adopt(Fd file, bool direct) = 0;
  // Closes the file, and does not wait for the file system. The error of this close(2) is dropped, so a file
  // with writes gets an Op::close first. The handle stays usable after an Op::close that is not the last. No
  // request may be in flight on the handle.
  virtual void release(Handle file) = 0;

  // The size that this machine knows, without waiting for requests in flight.
  virtual Result<std::uint64_t> size(Handle file) = 0;

  // The identity of an open file. `for_good`: a journal must recognise the file later (posix/identity.hpp).
  // May wait for the file system.
  virtual Result<FileIdentity> identify(const Fd& file, bool for_good) = 0;
  // The state of an open file. May wait for the file system.
  virtual Result<FileState> state_of(const Fd& file) = 0;
  // The same without a mark, and without a wait.
  virtual Result<FileIdentity> recognise(const Fd& file) { return identify(file, false); }
  // The clock of the times in FileState, for files of this machine.
  virtual std::uint64_t wall_ns() const { return io::wall_ns(); }
  // True for a file of this machine: its close(2) waits for nothing and tells nothing.
  virtual bool is_local(const Fd&) { return false; }

  virtual void submit(Request request) = 0;
  // Starts the requests that were submitted. Before this call, the storage may hold them back.
  virtual void kick() = 0;
  // Appends the completions that are ready to `out`. Never blocks.
  virtual void poll(std::vector<Completion>& out) = 0;
  // A descriptor that becomes readable when poll() has a completion; -1 if there is no such descriptor.
  virtual int event_fd() const = 0;
};

// Closes a descriptor that the storage has not adopted, without waiting for the file system.
inline void let_go(Storage& storage, Fd file) {
  if (!file.valid()) return;
  if (const Result<Handle> handle = storage.adopt(std::move(file), false)) storage.release(*handle);
}

}  // namespace millrace::io
