// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "journal/merge.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "journal/test_journal.hpp"

namespace millrace::journal {
namespace {

struct Merged {
  std::string file;
  std::size_t groups = 0;
  std::size_t descents = 0;  // pieces that begin before the last one's end
  std::uint64_t bytes = 0;
};

Merged merge(const std::vector<std::byte>& journal, std::size_t memory, std::size_t file_bytes) {
  MemorySource source(journal);
  const Summary summary = scan(source);
  EXPECT_EQ(summary.verdict, Verdict::clean);
  MergeReader reader(source, summary, memory);
  Merged merged{std::string(file_bytes, '.'), reader.groups(), 0, 0};
  std::uint64_t last_end = 0;
  for (Record piece; reader.next(piece);) {
    if (piece.offset < last_end) merged.descents += 1;
    last_end = piece.offset + piece.data.size();
    merged.bytes += piece.data.size();
    EXPECT_LE(last_end, file_bytes);
    std::memcpy(merged.file.data() + piece.offset, piece.data.data(), piece.data.size());
  }
  EXPECT_EQ(reader.verdict(), Verdict::clean);
  return merged;
}

std::string replay(const std::vector<Written>& written, std::size_t file_bytes) {
  std::string file(file_bytes, '.');
  for (const auto& [offset, data] : written) file.replace(offset, data.size(), data);
  return file;
}

TEST(Merge, NewestWinsInOneAscendingPass) {
  TestJournal journal;
  journal.append(0, "aaaaaaaaaaaa");
  journal.append(20, "aaaa");
  journal.append(4, "bbb");
  journal.append(18, "bbbbb");
  journal.append(0, "c");
  journal.finish();
  const Merged merged = merge(journal.bytes(), MiB, 24);
  EXPECT_EQ(merged.file, "caaabbbaaaaa......bbbbba");
  EXPECT_EQ(merged.descents, 0U);
  EXPECT_EQ(merged.bytes, 18U) << "each byte once";
}

TEST(Merge, EmptyJournalHasNothing) {
  TestJournal journal;
  journal.finish();
  EXPECT_EQ(merge(journal.bytes(), MiB, 4).file, "....");
}

// All journals of 4 records within 3 bytes: small enough for every case.
TEST(Merge, EverySmallJournalGivesTheLastWrite) {
  std::vector<std::pair<std::uint64_t, std::size_t>> extents;
  for (std::uint64_t begin = 0; begin < 3; ++begin) {
    for (std::size_t length = 1; begin + length <= 3; ++length) extents.emplace_back(begin, length);
  }
  const std::size_t n = extents.size();
  for (std::size_t code = 0; code < n * n * n * n; ++code) {
    TestJournal journal;
    for (std::size_t i = 0, rest = code; i < 4; ++i, rest /= n) {
      const auto& [offset, length] = extents[rest % n];
      journal.append(offset, std::string(length, static_cast<char>('a' + i)));
    }
    journal.finish();
    const Merged merged = merge(journal.bytes(), MiB, 3);
    ASSERT_EQ(merged.file, replay(journal.written, 3)) << "case " << code;
    ASSERT_EQ(merged.descents, 0U) << "case " << code;
  }
}

TEST(Merge, RandomJournalsInOneGroupOrMany) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    TestJournal journal;
    std::mt19937_64 random(seed);
    for (int run = 0; run < 20; ++run) {
      std::uint64_t at = random() % 5000;
      while (at < 90'000) {
        const std::size_t length = 1 + random() % 3000;
        std::string data(length, ' ');
        for (char& one : data) one = static_cast<char>('a' + random() % 26);
        journal.append(at, data);
        at += length + (random() % 2) * (random() % 8000);
      }
    }
    journal.finish();
    const std::string expected = replay(journal.written, 100'000);
    const Merged one = merge(journal.bytes(), 64 * MiB, 100'000);
    EXPECT_EQ(one.groups, 1U);
    EXPECT_EQ(one.descents, 0U);
    EXPECT_TRUE(one.file == expected) << "seed " << seed;
    const Merged many = merge(journal.bytes(), 200 * KiB, 100'000);
    EXPECT_GT(many.groups, 3U);
    EXPECT_LT(many.descents, many.groups);
    EXPECT_TRUE(many.file == expected) << "seed " << seed;
  }
}

TEST(Merge, ChangeSinceTheScanIsSeen) {
  TestJournal journal;
  journal.append(0, "some bytes");
  journal.finish();
  std::vector<std::byte> bytes = journal.bytes();
  MemorySource source(bytes);
  const Summary summary = scan(source);
  bytes[bytes.size() - 8] ^= std::byte{1};
  MergeReader reader(source, summary);
  Record piece;
  EXPECT_FALSE(reader.next(piece));
  EXPECT_EQ(reader.verdict(), Verdict::corrupt);
}

}  // namespace
}  // namespace millrace::journal
