// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace millrace {

// A limit of this process, until the end of its life.
class Limit {
 public:
  Limit(decltype(RLIMIT_NOFILE) what, rlim_t value) : what_(what) {
    EXPECT_EQ(::getrlimit(what, &before_), 0);
    const rlimit now{value, before_.rlim_max};
    EXPECT_EQ(::setrlimit(what, &now), 0);
  }
  ~Limit() { EXPECT_EQ(::setrlimit(what_, &before_), 0); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  const decltype(RLIMIT_NOFILE) what_;
  rlimit before_{};
};

}  // namespace millrace
