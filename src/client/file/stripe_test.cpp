// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/file/stripe.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/settings.hpp"

namespace millrace::client {
namespace {

// Makes a lov_user_md_v1 of little-endian words: magic, pattern (RAID 0), object id (16 bytes), stripe, count
// and more.
std::vector<std::byte> layout(std::uint32_t magic, std::uint32_t stripe) {
  std::vector<std::byte> bytes;
  for (const std::uint32_t word : {magic, 1u, 7u, 0u, 9u, 0u, stripe, 4u, 0u, 0u}) {
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<std::byte>(word >> 8 * i));
  }
  return bytes;
}

TEST(Stripe, ThatOfAPlainLustreLayoutIsTaken) {
  EXPECT_EQ(lustre_stripe(layout(0x0BD10BD0, 1 << 20)), MiB);
  EXPECT_EQ(lustre_stripe(layout(0x0BD30BD0, 16 << 20)), 16 * MiB);
}

TEST(Stripe, WhatCanNotBeAStripeIsNot) {
  EXPECT_EQ(lustre_stripe(layout(0x0BD60BD0, 1 << 20)),
            0u);  // a composite: several layouts, one behind the other
  EXPECT_EQ(lustre_stripe(layout(0x0BD10BD0, 3 << 20)), 0u);
  EXPECT_EQ(lustre_stripe(layout(0x0BD10BD0, 64 << 10)), 0u);
  EXPECT_EQ(lustre_stripe(std::vector<std::byte>(27)), 0u);
  EXPECT_EQ(lustre_stripe({}), 0u);
}

TEST(Stripe, ALocalFileSystemTellsNone) {
  TargetFile file, none;
  ASSERT_TRUE(file.remember("/proc/self/exe"));
  EXPECT_EQ(stripe_of(file), 0u);
  EXPECT_FALSE(none.remember("/nowhere"));
  EXPECT_EQ(stripe_of(none), 0u);
}

}  // namespace
}  // namespace millrace::client
