// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <barrier>
#include <functional>
#include <thread>
#include <vector>

#include "common/system.hpp"

namespace bench {

// Threads that do one thing after another together, each on a processor of its own where the system allows.
class Team {
 public:
  explicit Team(unsigned size) : size_(size) {}

  unsigned size() const { return size_; }

  // Runs work(index) once in every thread, all at the same time. Returns the seconds from the first one's
  // start to the last one's end; making and ending the threads is not in them.
  double run(const std::function<void(unsigned)>& work) const;

 private:
  unsigned size_;
};

// Processors that this process may use.
unsigned usable_processors();

}  // namespace bench
