// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace millrace::plain {

// The queue of writes that wait for the thread: a ring of bytes and a ring of requests, both bounded. First
// in, first out. Not thread safe: the caller locks.
//
//     bytes:  [ ... free ... | head: oldest ... waiting ... tail: next free | ... free ... ]
class Backlog {
 public:
  struct Request {
    std::size_t file = 0;
    off_t at = 0;
    const char* data = nullptr;
    std::size_t bytes = 0;
  };
  static constexpr std::size_t requests_max = 4096;
  // The most bytes of a request. The thread writes a request with one call, and frees its memory only
  // afterwards.
  static constexpr std::size_t request_bytes_max = 1 << 20;

  constexpr Backlog() = default;
  void set_memory(char* memory, std::size_t bytes) {
    memory_ = memory;
    size_ = bytes;
  }
  // Makes the queue as new: empty, without memory.
  void reset() {
    memory_ = nullptr;
    head_ = tail_ = first_ = claimed_ = last_ = 0;
  }
  bool has_memory() const { return memory_ != nullptr; }

  bool empty() const { return first_ == last_; }

  // Copies as many bytes as fit in one piece, and returns their number; 0 if there is no room. `joined`: the
  // bytes became part of the last request; otherwise they are a new request.
  std::size_t put(std::size_t file, const char* data, std::size_t bytes, off_t at, bool& joined) {
    if (empty()) head_ = tail_ = 0;  // takes used pages again: the kernel would have to make new ones
    const std::size_t place = static_cast<std::size_t>(tail_ % size_);
    std::size_t room = std::min<std::size_t>(size_ - place, size_ - static_cast<std::size_t>(tail_ - head_));
    Request* before = last_ > claimed_ ? &requests_[(last_ - 1) % requests_max] : nullptr;
    joined = before != nullptr && before->file == file && place != 0 &&
             before->at + static_cast<off_t>(before->bytes) == at && before->bytes < request_bytes_max;
    if (!joined && last_ - first_ == requests_max) return 0;
    room = std::min(room, request_bytes_max - (joined ? before->bytes : 0));
    const std::size_t taken = std::min(bytes, room);
    if (taken == 0) return 0;
    std::memcpy(memory_ + place, data, taken);
    tail_ += taken;
    if (joined) {
      before->bytes += taken;
    } else {
      requests_[last_++ % requests_max] = {file, at, memory_ + place, taken};
    }
    return taken;
  }

  // Returns the oldest request. The request stays unchanged until done() is called.
  const Request& claim() {
    claimed_ = first_ + 1;
    return requests_[first_ % requests_max];
  }
  void done() {
    head_ += requests_[first_ % requests_max].bytes;
    ++first_;
  }

 private:
  char* memory_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t head_ = 0, tail_ = 0;
  std::uint64_t first_ = 0, claimed_ = 0, last_ = 0;
  std::array<Request, requests_max> requests_ = {};
};

}  // namespace millrace::plain
