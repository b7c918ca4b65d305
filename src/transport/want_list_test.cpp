// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/want_list.hpp"

#include <gtest/gtest.h>

#include <random>

namespace millrace::transport {
namespace {

std::vector<Extent> through(const std::vector<Extent>& wanted, std::size_t* payload_bytes = nullptr) {
  WantWriter writer(want_max_payload);
  for (const Extent extent : wanted) EXPECT_TRUE(writer.add(extent));
  const std::vector<std::byte> payload = writer.finish();
  if (payload_bytes != nullptr) *payload_bytes = payload.size();
  std::vector<Extent> extents;
  EXPECT_TRUE(read_want_list(payload, extents));
  return extents;
}

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(WantList, ExtentsComeBackAsTheyWere) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Extent> wanted;
    std::uint64_t at = random() % 100000;
    for (int i = 0; i < 500; ++i) {
      const std::uint64_t length = 1 + random() % (seed % 3 == 0 ? 4 : 5000);
      wanted.push_back({at, at + length});
      at += length + 1 + random() % (seed % 2 == 0 ? 2 : 100000);
    }
    EXPECT_EQ(through(wanted), wanted) << "seed " << seed;
  }
}

TEST(WantList, ExtentsThatTouchBecomeOne) {
  EXPECT_EQ(through({{0, 10}, {10, 20}, {20, 25}}), (std::vector<Extent>{{0, 25}}));
}

TEST(WantList, AConstantStrideIsOneEntry) {
  std::vector<Extent> wanted;
  for (std::uint64_t i = 0; i < 4096; ++i) wanted.push_back({i * 4096, i * 4096 + 256});
  std::size_t bytes = 0;
  EXPECT_EQ(through(wanted, &bytes), wanted);
  EXPECT_LE(bytes, 10u);
}

TEST(WantList, AFullListRefusesAnExtentAndKeepsTheOthers) {
  WantWriter writer(200);
  std::vector<Extent> wanted;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const Extent extent{i * i * 100, i * i * 100 + 1 + i % 7};
    if (!writer.add(extent)) break;
    wanted.push_back(extent);
  }
  const std::vector<std::byte> payload = writer.finish();
  EXPECT_LE(payload.size(), 200u);
  EXPECT_GT(wanted.size(), 10u);
  std::vector<Extent> extents;
  ASSERT_TRUE(read_want_list(payload, extents));
  EXPECT_EQ(extents, wanted);
}

TEST(WantList, MalformedPayloadsAreRefused) {
  std::vector<Extent> extents;
  EXPECT_FALSE(read_want_list({}, extents));
  EXPECT_FALSE(read_want_list(bytes_of({0}), extents));                          // ends early
  EXPECT_FALSE(read_want_list(bytes_of({0, 0, 0}), extents));                    // an empty extent
  EXPECT_FALSE(read_want_list(bytes_of({0, 1, 1}), extents));                    // no hole
  EXPECT_FALSE(read_want_list(bytes_of({0x80, 0x80, 0x80}), extents));           // a number without an end
  EXPECT_FALSE(read_want_list(bytes_of({0, 1, 0xff, 0xff, 0x7f, 1}), extents));  // too many extents
  EXPECT_FALSE(read_want_list(bytes_of({0, 0x80, 0x80, 0x80, 4, 0}), extents));  // too much data
  EXPECT_FALSE(read_want_list(bytes_of({0, 0x80, 0x80, 0x40, 7, 1}), extents));  // ... in many extents
  EXPECT_TRUE(read_want_list(bytes_of({0, 0x80, 0x80, 0x40, 1, 1}), extents));
}

TEST(WantList, RandomPayloadsNeverGiveExtentsBeyondTheBounds) {
  for (unsigned seed = 1; seed <= 5000; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<std::byte> payload(1 + random() % 40);
    for (std::byte& byte : payload) byte = static_cast<std::byte>(random() & random());
    std::vector<Extent> extents;
    if (!read_want_list(payload, extents)) continue;
    std::uint64_t at = 0, bytes = 0;
    for (const Extent extent : extents) {
      ASSERT_GE(extent.begin, at);
      ASSERT_LT(extent.begin, extent.end);
      at = extent.end;
      bytes += extent.size();
    }
    EXPECT_LE(bytes, want_max_bytes);
    EXPECT_LE(at, UINT64_MAX / 2);
    EXPECT_LE(extents.size(), want_max_extents);
  }
}

}  // namespace
}  // namespace millrace::transport
