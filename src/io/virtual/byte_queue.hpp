// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace millrace::io {

// A queue of bytes: first in, first out.
class ByteQueue {
 public:
  std::size_t size() const { return data_.size() - begin_; }
  void push(std::span<const std::byte> bytes) { data_.insert(data_.end(), bytes.begin(), bytes.end()); }
  std::span<const std::byte> front(std::size_t most) const {
    return std::span(data_).subspan(begin_, std::min(most, size()));
  }
  void pop(std::size_t bytes) {
    begin_ += bytes;
    if (begin_ < data_.size() / 2) return;
    data_.erase(data_.begin(), data_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }

 private:
  std::vector<std::byte> data_;
  std::size_t begin_ = 0;
};

}  // namespace millrace::io
