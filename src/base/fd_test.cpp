// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "base/fd.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <utility>

namespace millrace {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

int fresh() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

TEST(Fd, closes_at_the_end_of_its_scope) {
  const int raw = fresh();
  {
    const Fd fd(raw);
    EXPECT_TRUE(fd.valid());
    EXPECT_TRUE(is_open(raw));
  }
  EXPECT_FALSE(is_open(raw));
}

TEST(Fd, moves_and_leaves_nothing_behind) {
  const int raw = fresh();
  Fd first(raw);
  Fd second(std::move(first));
  EXPECT_FALSE(first.valid());  // NOLINT(bugprone-use-after-move): that is the promise under test
  EXPECT_EQ(second.get(), raw);
  const int other = fresh();
  Fd third(other);
  third = std::move(second);
  EXPECT_FALSE(is_open(other));
  EXPECT_TRUE(is_open(raw));
}

TEST(Fd, is_never_a_standard_descriptor) {
  const int kept = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
  ::close(STDIN_FILENO);
  const Fd own(fresh());
  const bool is_free = !is_open(STDIN_FILENO);
  if (kept >= 0) ::dup2(kept, STDIN_FILENO), ::close(kept);
  EXPECT_TRUE(is_free);
  EXPECT_GT(own.get(), STDERR_FILENO);
}

TEST(Fd, release_hands_the_descriptor_on) {
  Fd fd(fresh());
  const int raw = fd.release();
  EXPECT_FALSE(fd.valid());
  EXPECT_TRUE(is_open(raw));
  fd.reset(raw);
  fd.reset();
  EXPECT_FALSE(is_open(raw));
}

}  // namespace
}  // namespace millrace
