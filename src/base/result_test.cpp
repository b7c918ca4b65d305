// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "base/result.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace millrace {
namespace {

TEST(Status, defaults_to_ok) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status::from_errno(0), Status());
  EXPECT_EQ(sizeof(Status), 8U);
}

TEST(Status, maps_errno_to_what_a_program_can_act_on) {
  EXPECT_EQ(Status::from_errno(ENOSPC).code(), Code::no_space);
  EXPECT_EQ(Status::from_errno(EDQUOT).code(), Code::quota);
  EXPECT_EQ(Status::from_errno(EPERM).code(), Code::access);
  EXPECT_EQ(Status::from_errno(EROFS).code(), Code::read_only);
  EXPECT_EQ(Status::from_errno(ENOTDIR).code(), Code::not_found);
  EXPECT_EQ(Status::from_errno(EFBIG).code(), Code::too_big);
  EXPECT_EQ(Status::from_errno(ETIMEDOUT).code(), Code::io) << "a file server's silence is not the agent's";
  EXPECT_EQ(Status::from_errno(EIO).code(), Code::io);
  EXPECT_EQ(Status::from_errno(ESTALE).code(), Code::io);
  EXPECT_EQ(Status::from_errno(ESTALE).error(), ESTALE);
}

TEST(Status, describes_cause_and_errno) {
  const std::string text = Status::from_errno(ENOSPC).describe();
  EXPECT_NE(text.find("file system is full"), std::string::npos);
  EXPECT_NE(text.find("No space left on device"), std::string::npos);
  EXPECT_EQ(Status(Code::lost_agent).describe().find('('), std::string::npos);
}

TEST(Status, has_a_sentence_for_every_code) {
  for (std::uint32_t code = 0; code <= static_cast<std::uint32_t>(Code::no_memory); ++code) {
    EXPECT_NE(Status(static_cast<Code>(code)).describe(), "unknown error") << code;
  }
}

TEST(Result, holds_a_value_or_a_status) {
  const Result<int> good(7);
  EXPECT_TRUE(good);
  EXPECT_EQ(*good, 7);
  EXPECT_TRUE(good.status().ok());
  const Result<int> bad(Code::io, EIO);
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.status(), Status(Code::io, EIO));
}

TEST(Result, moves_what_cannot_be_copied) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(3));
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 3);
}

}  // namespace
}  // namespace millrace
