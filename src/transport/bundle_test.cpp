// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/bundle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace millrace::transport {
namespace {

using Found = Unbundler::Found;
using Bytes = std::vector<std::byte>;

struct Piece {
  std::uint64_t offset;
  Bytes data;
  bool operator==(const Piece&) const = default;
};

std::vector<Piece> take_apart(std::uint64_t offset, std::span<const std::byte> payload) {
  std::vector<Piece> pieces;
  Unbundler unbundler;
  for (;;) {
    Unbundler::Unbundled record{};
    const Found found = unbundler.next(offset, payload, record);
    EXPECT_NE(found, Found::corrupt);
    if (found != Found::record) return pieces;
    pieces.push_back({record.offset, {record.data.begin(), record.data.end()}});
    unbundler.taken();
  }
}

TEST(Bundle, RecordsComeOutAsTheyWentIn) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    Bundle bundle(4096u << random() % 4);
    std::vector<Piece> given;
    for (;;) {
      Piece piece{random() >> (1 + random() % 62), Bytes(1 + random() % bundled_record_max_bytes)};
      std::ranges::generate(piece.data, [&] { return static_cast<std::byte>(random()); });
      if (!bundle.add(piece.offset, piece.data)) break;
      given.push_back(std::move(piece));
    }
    EXPECT_EQ(take_apart(bundle.offset(), bundle.payload()), given);
    bundle.clear();
    EXPECT_TRUE(bundle.empty());
  }
}

TEST(Bundle, SmallRecordsAtEvenDistancesCostFourBytesEach) {
  Bundle bundle(32768);
  const Bytes data(256);
  std::size_t count = 0;
  while (bundle.add(count * 4096, data)) ++count;
  const std::size_t bytes = bundle.payload().size();
  EXPECT_GE(count, 60u);
  EXPECT_LE(bytes, count * (256 + 4));
}

TEST(Bundle, NeverLargerThanTheRecordsOfTheFile) {
  Bundle bundle(4096);
  std::uint64_t offset = 0;
  while (bundle.add(offset, Bytes(1 + offset % 7))) offset += std::uint64_t{1} << 40;
  EXPECT_LE(bundle.payload().size(), 4096u);
  Bundle other(32768);
  EXPECT_FALSE(other.add(0, Bytes(bundled_record_max_bytes + 1)));
  EXPECT_FALSE(other.add(0, {}));
}

TEST(Bundle, ARecordThatWasNotTakenIsShownAgain) {
  Bundle bundle(4096);
  ASSERT_TRUE(bundle.add(100, Bytes(10, std::byte{1})));
  ASSERT_TRUE(bundle.add(50, Bytes(20, std::byte{2})));
  const auto payload = bundle.payload();
  Unbundler unbundler;
  EXPECT_FALSE(unbundler.begun());
  for (int i = 0; i < 3; ++i) {
    Unbundler::Unbundled record{};
    ASSERT_EQ(unbundler.next(100, payload, record), Found::record);
    EXPECT_EQ(record.offset, 100u);
  }
  unbundler.taken();
  EXPECT_TRUE(unbundler.begun());
  Unbundler::Unbundled record{};
  ASSERT_EQ(unbundler.next(100, payload, record), Found::record);
  EXPECT_EQ(record.offset, 50u);
  EXPECT_EQ(record.data.size(), 20u);
}

TEST(Bundle, DamageIsSeenOrGivesRecordsWithinThePayload) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20000; ++round) {
    Bundle bundle(4096);
    for (int i = 0; i < 5; ++i) (void)bundle.add(random() % 100000, Bytes(1 + random() % 50));
    const auto sound = bundle.payload();
    Bytes payload(sound.begin(), sound.end());
    payload.resize(payload.size() - random() % 4);
    for (int i = 0; i < 2; ++i) payload[random() % payload.size()] = static_cast<std::byte>(random());
    Unbundler unbundler;
    std::size_t records = 0;
    for (Unbundler::Unbundled record{}; unbundler.next(0, payload, record) == Found::record;
         unbundler.taken()) {
      ASSERT_GE(record.data.data(), payload.data());
      ASSERT_LE(record.data.data() + record.data.size(), payload.data() + payload.size());
      ASSERT_LE(++records, payload.size());
    }
  }
}

TEST(Bundle, PayloadsThatCannotBeAreCorrupt) {
  const auto found = [](std::initializer_list<int> bytes, std::uint64_t offset = 0) {
    Bytes payload;
    for (const int byte : bytes) payload.push_back(static_cast<std::byte>(byte));
    Unbundler unbundler;
    Unbundler::Unbundled record{};
    while (unbundler.next(offset, payload, record) == Found::record) unbundler.taken();
    return unbundler.next(offset, payload, record);
  };
  EXPECT_EQ(found({0, 2, 'a', 'b', 0, 1, 'c'}), Found::end);
  EXPECT_EQ(found({0, 1, 'a', 0}), Found::corrupt) << "a gap without a length";
  EXPECT_EQ(found({0, 2, 'a'}), Found::corrupt) << "a record larger than the data";
  EXPECT_EQ(found({0, 1, 'a', 'b'}), Found::corrupt) << "data without a record";
  EXPECT_EQ(found({0, 0, 'a'}), Found::corrupt) << "a record of nothing";
  EXPECT_EQ(found({0xff, 0xff}), Found::corrupt) << "a number without an end";
  EXPECT_EQ(found({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 1, 'a'}), Found::corrupt)
      << "a number of more than 64 bits";
  EXPECT_EQ(found({1, 1, 'a'}), Found::corrupt) << "a record before the begin of the file";
  EXPECT_EQ(found({0, 1, 'a'}, UINT64_MAX / 2), Found::end);
  EXPECT_EQ(found({2, 1, 'a'}, UINT64_MAX / 2), Found::corrupt) << "a record behind the end of all files";
}

TEST(Bundle, APayloadThatBecameShorterMeanwhileIsCorrupt) {
  Bundle bundle(4096);
  ASSERT_TRUE(bundle.add(0, Bytes(10)));
  ASSERT_TRUE(bundle.add(20, Bytes(10)));
  Unbundler unbundler;
  Unbundler::Unbundled record{};
  ASSERT_EQ(unbundler.next(0, bundle.payload(), record), Found::record);
  unbundler.taken();
  EXPECT_EQ(unbundler.next(0, bundle.payload().first(5), record), Found::corrupt);
}

}  // namespace
}  // namespace millrace::transport
