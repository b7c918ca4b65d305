// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "io/posix/identity.hpp"
#include "io/storage.hpp"

namespace millrace::io {

// Makes requests of one kind fail. A failing write may transfer a part first, like a real one.
struct Fault {
  Op op = Op::write;
  std::uint64_t first = 1;  // the number of the first request of this kind that fails; numbers begin at 1
  std::uint64_t every = 0;  // every n-th request after it fails too; 0: none
  int error = 5;            // errno; EIO
};

struct MemoryOptions {
  std::uint64_t seed = 1;
  std::uint32_t max_delay_polls = 3;          // a request takes one poll and up to this many more
  bool shuffle = true;                        // completions of one poll in random order
  bool short_writes = true;                   // a write's bytes arrive in several parts, poll by poll
  std::uint64_t capacity_bytes = UINT64_MAX;  // of all files together; more is ENOSPC
  std::vector<Fault> faults = {};
  bool keep_history = false;  // see history()
};

// The number of times that the caller broke the contract of Storage. All are 0 for a correct caller.
struct Misuse {
  std::uint64_t changed_memory = 0;      // the memory of a write changed between submit and completion
  std::uint64_t overlapping_writes = 0;  // two writes in flight at the same time had a common byte
  std::uint64_t mixed_blocks = 0;        // a direct and a buffered write in flight on one 4 KiB block
  std::uint64_t misaligned_direct = 0;   // a request on a direct handle that is not aligned
  std::uint64_t released_in_flight = 0;  // release() with requests in flight on the handle
  std::uint64_t bad_handles = 0;         // a request on a handle that is not adopted
  friend bool operator==(const Misuse&, const Misuse&) = default;
};

// A Storage with files in memory. The same seed and the same calls give the same completions at the same
// polls, because requests progress only inside poll(), and time is counted in polls. Requests do not progress
// before kick(). A write reads its memory as late as possible, so that a caller that reuses memory early gets
// a wrong file. Not thread safe.
//
// Descriptors of the same file (device and inode, so also duplicates) share one image. An invalid Fd makes a
// new file. Files are numbered from 0 in the order in which they are first adopted or created. The contents
// of the descriptor's real file are neither read nor written.
class MemoryStorage final : public Storage {
 public:
  using File = std::size_t;

  explicit MemoryStorage(MemoryOptions options = {});
  ~MemoryStorage() override;

  // Makes a descriptor to adopt (an empty memfd), registered as the next file.
  Fd create();

  Result<Handle> adopt(Fd file, bool direct) override;
  void release(Handle file) override;
  Result<std::uint64_t> size(Handle file) override;
  Result<FileIdentity> identify(const Fd& file, bool for_good) override {
    return io::identify(file, for_good);
  }
  Result<FileState> state_of(const Fd& file) override;
  void submit(Request request) override;
  void kick() override;
  void poll(std::vector<Completion>& out) override;
  int event_fd() const override { return -1; }

  // The file's bytes, including those of requests in flight and of failed requests.
  std::span<const std::byte> contents(File file) const;
  // The contents after a crash now, in the worst case: only bytes that a completed datasync covers. Bytes of
  // a failed datasync stay lost, because the page cache drops them after it has reported the error once.
  std::span<const std::byte> stable(File file) const;
  // Replaces the contents and the stable image. No request may be in flight.
  void assign(File file, std::span<const std::byte> bytes);

  std::size_t files() const { return images_.size(); }
  std::size_t in_flight() const { return active_.size() + held_.size(); }
  // The number of handles that are adopted and not released.
  std::size_t handles() const;
  const Misuse& misuse() const { return misuse_; }
  // The number of requests of a kind so far.
  std::uint64_t submitted(Op op) const { return submitted_[static_cast<std::size_t>(op)]; }
  // Replaces the faults. The request numbers go on.
  void set_faults(std::vector<Fault> faults) { options_.faults = std::move(faults); }
  void set_capacity(std::uint64_t bytes) { options_.capacity_bytes = bytes; }

  struct Event {
    Op op;
    File file;
    bool direct;
    std::uint64_t offset;
    std::uint64_t length;  // bytes of data, or the length of a writeback
    std::size_t buffers;
    friend bool operator==(const Event&, const Event&) = default;
  };
  // All requests in the order of submission, if keep_history is set.
  const std::vector<Event>& history() const { return history_; }

 private:
  struct Saved;
  struct Snapshot;
  struct Image;
  struct Adopted;
  struct Active;

  Image& image_of(const Active& request);
  void check_misuse(Active& request);
  bool step(Active& request);
  bool step_write(Active& request);
  void step_read(Active& request);
  void finish_sync(Active& request);
  std::uint64_t used_bytes() const;
  std::uint64_t below(std::uint64_t bound);

  MemoryOptions options_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Image>> images_;
  std::vector<std::unique_ptr<Adopted>> adopted_;  // by handle; null after release
  std::vector<std::unique_ptr<Active>> held_;      // submitted, not kicked
  std::vector<std::unique_ptr<Active>> active_;
  std::vector<Event> history_;
  std::array<std::uint64_t, op_count> submitted_{};
  Misuse misuse_;
};

}  // namespace millrace::io
