// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

#include "journal/test_journal.hpp"

namespace millrace::journal {
namespace {

// A small journal of everything: three runs, a commit, odd lengths.
TestJournal small_journal() {
  TestJournal journal;
  journal.append(100, "hello");
  journal.append(105, "world, of 19 bytes.");
  journal.append(50, "older run");
  journal.commit();
  journal.append(10, "x");
  journal.append(1000, "eight by");
  journal.finish();
  return journal;
}

TEST(Journal, ReadsBackWhatWasWritten) {
  TestJournal journal = small_journal();
  const std::vector<std::byte> bytes = journal.bytes();
  MemorySource source(bytes);
  JournalReader reader(source);
  ASSERT_EQ(reader.open(), Verdict::clean);
  EXPECT_TRUE(reader.belongs_to(7, {8, 9, 10, 11, 0}));
  EXPECT_FALSE(reader.belongs_to(7, {8, 9, 10, 12, 0}));
  EXPECT_FALSE(reader.belongs_to(6, {8, 9, 10, 11, 0}));
  EXPECT_EQ(read_all(journal.bytes()).records, journal.written);
  const Summary summary = scan(source);
  EXPECT_EQ(summary.verdict, Verdict::clean);
  EXPECT_EQ(summary.records, 5U);
  EXPECT_EQ(summary.runs.size(), 3U);
  EXPECT_EQ(summary.commits, 1U);
  EXPECT_FALSE(summary.committed);
  EXPECT_EQ(summary.extent, (Extent{10, 1008}));
  EXPECT_EQ(summary.end, journal.bytes().size());
}

TEST(Journal, TruncatedAnywhereGivesACleanPrefix) {
  TestJournal journal = small_journal();
  const std::vector<std::byte> whole = journal.bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const ReadBack back = read_all(std::span(whole).first(size));
    if (size < sizeof(FileHeader)) {
      EXPECT_EQ(back.verdict, Verdict::not_a_journal) << size;
      continue;
    }
    EXPECT_TRUE(back.verdict == Verdict::torn || back.verdict == Verdict::clean) << size;
    EXPECT_LE(back.end, size);
    ASSERT_LE(back.records.size(), journal.written.size());
    EXPECT_TRUE(std::equal(back.records.begin(), back.records.end(), journal.written.begin())) << size;
  }
}

TEST(Journal, AnyFlippedBitIsSeenBeforeItsRecordIsUsed) {
  TestJournal journal = small_journal();
  std::vector<std::byte> bytes = journal.bytes();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      bytes[at] ^= std::byte{1} << bit;
      const ReadBack back = read_all(bytes);
      EXPECT_EQ(back.verdict, at < sizeof magic ? Verdict::not_a_journal : Verdict::corrupt)
          << "byte " << at << " bit " << bit;
      EXPECT_LE(back.end, at) << "a damaged record was accepted";
      EXPECT_TRUE(std::equal(back.records.begin(), back.records.end(), journal.written.begin()));
      bytes[at] ^= std::byte{1} << bit;
    }
  }
}

TEST(Journal, AnyLostRecordIsSeen) {
  TestJournal journal = small_journal();
  const std::vector<std::byte> whole = journal.bytes();
  std::vector<std::size_t> starts;
  MemorySource source(whole);
  JournalReader reader(source);
  ASSERT_EQ(reader.open(), Verdict::clean);
  for (Record record; reader.next(record);) starts.push_back(record.position);
  starts.push_back(whole.size());
  for (std::size_t i = 0; i + 2 < starts.size(); ++i) {
    std::vector<std::byte> cut = whole;
    cut.erase(cut.begin() + static_cast<std::ptrdiff_t>(starts[i]),
              cut.begin() + static_cast<std::ptrdiff_t>(starts[i + 1]));
    const ReadBack back = read_all(cut);
    EXPECT_EQ(back.verdict, Verdict::corrupt);
    EXPECT_EQ(back.end, starts[i]);
  }
}

TEST(Journal, ZeroTailIsTorn) {
  TestJournal journal = small_journal();
  std::vector<std::byte> bytes = journal.bytes();
  const std::size_t end = bytes.size();
  bytes.resize(end + 1'000'000);
  const ReadBack back = read_all(bytes);
  EXPECT_EQ(back.verdict, Verdict::torn);
  EXPECT_EQ(back.end, end);
  EXPECT_EQ(back.records, journal.written);
  bytes.back() = std::byte{1};
  EXPECT_EQ(read_all(bytes).verdict, Verdict::corrupt);
}

TEST(Journal, RecordsOfAnotherJournalAreRefused) {
  TestJournal one;
  one.append(0, "secret");
  one.finish();
  TestJournal other(Identity{7, {8, 10}, 0, "/other"});
  other.append(0, "public");
  other.finish();
  std::vector<std::byte> mixed = one.bytes();
  std::memcpy(mixed.data(), other.bytes().data(), sizeof(FileHeader));
  const ReadBack back = read_all(mixed);
  EXPECT_EQ(back.verdict, Verdict::corrupt);
  EXPECT_TRUE(back.records.empty());
}

TEST(Journal, AnotherVersionIsUnsupported) {
  TestJournal journal = small_journal();
  std::vector<std::byte> bytes = journal.bytes();
  FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.version = version + 1;
  header.checksum = header_checksum(header);
  std::memcpy(bytes.data(), &header, sizeof header);
  EXPECT_EQ(read_all(bytes).verdict, Verdict::unsupported);
}

TEST(Journal, ALogTakesRecordsInAnyOrderAndNoRuns) {
  Identity who = TestJournal::identity();
  who.layout = Layout::log;
  TestJournal journal(who);
  journal.append(100, "later overlaps");
  journal.append(50, "before");
  journal.append(105, "newer");
  journal.commit();
  journal.finish();
  const std::vector<std::byte> bytes = journal.bytes();
  EXPECT_EQ(read_all(bytes).records, journal.written);
  MemorySource source(bytes);
  const Summary summary = scan(source);
  EXPECT_EQ(summary.verdict, Verdict::clean);
  EXPECT_EQ(summary.records, 3U);
  EXPECT_TRUE(summary.runs.empty());
  EXPECT_TRUE(summary.committed);
  EXPECT_EQ(summary.extent, (Extent{50, 114}));
}

// A crash in the middle of a sync may leave what lies behind and lose what lies before: that is no damage of
// what somebody counts on.
TEST(Journal, ACommitTellsWhatWasSafeBeforeItWasWritten) {
  Identity who = TestJournal::identity();
  who.layout = Layout::log;
  TestJournal journal(who);
  journal.append(0, "first");
  journal.writer->sync();
  while (journal.writer->stable() == 0) {
    MemorySource source(journal.storage->contents(0));
    ASSERT_EQ(scan(source).commits, 0U) << "nothing is safe yet";
    journal.round();
    if (journal.writer->written() == 1 && journal.written.size() == 1) journal.append(100, "later");
  }
  journal.finish();
  const std::vector<std::byte> bytes = journal.bytes();
  MemorySource whole(bytes);
  EXPECT_EQ(scan(whole).commits, 1U);
  EXPECT_EQ(scan(whole).records, 2U);
  const auto somebody_counts_on = [&bytes](std::string_view what) {
    std::vector<std::byte> damaged = bytes;
    const auto same = [](std::byte one, char other) { return one == static_cast<std::byte>(other); };
    const auto at = std::search(damaged.begin(), damaged.end(), what.begin(), what.end(), same);
    *at = std::byte{0};
    MemorySource source(damaged);
    const Summary summary = scan(source);
    EXPECT_EQ(summary.verdict, Verdict::corrupt);
    return commit_behind(source, summary);
  };
  EXPECT_TRUE(somebody_counts_on("first"));
  EXPECT_FALSE(somebody_counts_on("later")) << "the commit behind it is of what was safe before";
}

TEST(Journal, AnUnknownLayoutIsCorrupt) {
  TestJournal journal = small_journal();
  std::vector<std::byte> bytes = journal.bytes();
  FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.layout = static_cast<Layout>(3);
  header.checksum = header_checksum(header);
  std::memcpy(bytes.data(), &header, sizeof header);
  EXPECT_EQ(read_all(bytes).verdict, Verdict::corrupt);
}

TEST(Journal, PathLongerThanItsFieldIsCut) {
  TestJournal journal(Identity{1, {2, 3}, 4, std::string(10'000, 'p')});
  journal.finish();
  const std::vector<std::byte> bytes = journal.bytes();
  MemorySource source(bytes);
  const Summary summary = scan(source);
  EXPECT_EQ(summary.verdict, Verdict::clean);
  EXPECT_EQ(summary.header.path_length, path_max);
}

TEST(Journal, ManyRecordsThroughSmallWindowsAndBatches) {
  TestJournal journal;
  std::mt19937_64 random(3);
  for (int i = 0; i < 3000; ++i) {
    journal.append(random() % 1'000'000, std::string(1 + random() % 5000, static_cast<char>('a' + i % 26)));
  }
  journal.append(5, std::string(payload_max, 'M'));
  journal.commit();
  journal.finish();
  EXPECT_EQ(read_all(journal.bytes(), 4096).records, journal.written);
  EXPECT_EQ(journal.storage->misuse(), io::Misuse{});
  const std::vector<std::byte> bytes = journal.bytes();
  MemorySource source(bytes);
  EXPECT_TRUE(scan(source).committed);
}

TEST(JournalWriter, SyncMakesRecordsStable) {
  TestJournal journal;
  journal.append(0, "kept");
  journal.writer->sync();
  journal.drain();
  journal.append(4, "lost in a crash");
  journal.writer->flush();
  journal.drain();
  const auto stable = journal.storage->stable(0);
  EXPECT_EQ(read_all({stable.data(), stable.size()}).records.size(), 1U);
}

TEST(JournalWriter, ASyncIsNotPutOffByWhatComesLater) {
  TestJournal journal;
  journal.append(0, "kept");
  const std::uint64_t mark = journal.writer->records();
  journal.writer->sync();
  for (int i = 0; i < 200 && journal.writer->stable() < mark; ++i) {
    journal.append(4, std::string(payload_max, 'm'));
    journal.round();
  }
  EXPECT_GE(journal.writer->stable(), mark);
  EXPECT_GE(journal.writer->written(), journal.writer->stable());
  journal.finish();
}

TEST(JournalWriter, KillAtAnyMomentLeavesACleanPrefix) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    TestJournal journal(TestJournal::identity(), {.seed = seed, .max_delay_polls = 2});
    std::mt19937_64 random(seed);
    for (int i = 0; i < 400; ++i) {
      journal.append(random() % 1'000'000, std::string(1 + random() % 30'000, 'k'));
      if (random() % 10 == 0) journal.writer->flush();
      journal.round();
      if (random() % 20 != 0) continue;
      const auto now = journal.storage->contents(0);
      if (now.size() < sizeof(FileHeader)) continue;
      const ReadBack back = read_all(now);
      ASSERT_TRUE(back.verdict == Verdict::torn || back.verdict == Verdict::clean);
      ASSERT_TRUE(std::equal(back.records.begin(), back.records.end(), journal.written.begin()));
    }
    journal.finish();
  }
}

TEST(JournalWriter, FullDiskSticksAndNothingHangs) {
  TestJournal journal(TestJournal::identity(), {.capacity_bytes = 3 * MiB});
  for (int i = 0; i < 200; ++i)
    journal.append(static_cast<std::uint64_t>(i) * 65'536, std::string(65'536, 'f'));
  journal.writer->sync();
  journal.drain();
  EXPECT_EQ(journal.writer->status().code(), Code::no_space);
  EXPECT_TRUE(journal.writer->idle());
  EXPECT_TRUE(journal.writer->ready());
}

TEST(JournalWriter, HoldsNoMoreThanTwoBatches) {
  TestJournal journal;
  int taken = 0;
  const std::vector<std::byte> data(64 * KiB);
  while (journal.writer->ready() && taken < 1000) {
    journal.writer->append(static_cast<std::uint64_t>(taken) * data.size(), data);
    taken += 1;
  }
  EXPECT_LE(taken, 64) << "4 MiB";
  EXPECT_GE(taken, 16);
  journal.finish();
}

}  // namespace
}  // namespace millrace::journal
