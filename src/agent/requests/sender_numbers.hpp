// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>

#include "agent/requests/sender.hpp"

namespace millrace::agent {

// Gives every sender the lowest free number, because Core uses the numbers as indices. Not thread safe.
class SenderNumbers {
 public:
  explicit SenderNumbers(SenderId first = 0) : next_(first) {}

  SenderId take() {
    if (free_.empty()) return next_++;
    return free_.extract(free_.begin()).value();
  }
  void give_back(SenderId number) { free_.insert(number); }

 private:
  std::set<SenderId> free_;
  SenderId next_;
};

}  // namespace millrace::agent
