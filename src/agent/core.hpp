// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "base/settings.hpp"
#include "extent/extent.hpp"
#include "io/storage.hpp"
#include "transport/frame.hpp"

namespace millrace::agent {

using ChannelId = std::uint32_t;  // one connected rank
using FileSlot = std::uint32_t;   // one target file, whoever opened it (device and inode)

// The answer to a flush, sync or close.
struct Reply {
  ChannelId channel;
  std::uint32_t request;
  Status status;
};

// The agent without a process around it: a deterministic state machine. Events come in by the methods
// below, work goes out through Storage, answers through take_replies(). It reads no clock (time is told),
// starts no thread, touches no descriptor: tests and the simulator run it over an in-memory Storage.
// Not thread safe; one thread drives it.
class Core {
 public:
  Core(io::Storage& storage, std::string journal_directory);
  ~Core();

  // Registers channel's interest in a target. The same device and inode give the same slot, so that two
  // opens of one file see one order. Takes the descriptor.
  Result<FileSlot> open(ChannelId channel, Fd target, const transport::Register& registration);

  // True while a record may be taken: false means that memory is at its bound and writes are in flight;
  // stop consuming channels and call again after advance().
  bool ready() const;

  // One write record; copies the bytes. The checksum has been verified by the caller.
  void write(ChannelId channel, FileSlot file, std::uint64_t offset, std::span<const std::byte> data);

  // The rank wrote this extent itself, past the pipeline.
  void note(ChannelId channel, FileSlot file, Extent extent);

  // Requests; each is answered once. The caller has consumed every channel's records up to now before
  // it passes a flush or sync on, so that bytes of all ranks are covered.
  void flush(ChannelId channel, FileSlot file, std::uint32_t request, Extent extent);
  void sync(ChannelId channel, FileSlot file, std::uint32_t request);
  void close(ChannelId channel, FileSlot file, std::uint32_t request, const transport::ClientCounters& counters);

  // The rank has gone without closing. Its records stay valid and are written.
  void abandon(ChannelId channel);

  // Takes completions from storage, starts what can be started. True if anything moved.
  bool advance(std::uint64_t now_ns);

  // When advance() should be called again though nothing happens (a bounded wait for stragglers), in the
  // same clock; UINT64_MAX = never.
  std::uint64_t next_deadline_ns() const;

  std::vector<Reply> take_replies();

  // One JSON document (no newline) for every file that was closed for good since the last call.
  std::vector<std::string> take_reports();

  // A sticky error of the file, to be shown to all its ranks; ok if none.
  Status error(FileSlot file) const;
  // True if the file holds bytes that its file system does not have yet.
  bool dirty(FileSlot file) const;
  // True if nothing is open, buffered or in flight.
  bool idle() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::agent
