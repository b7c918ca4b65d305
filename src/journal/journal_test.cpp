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

TEST(Journal, ReadsBackWhatWasWritten) {
  TestJournal journal = small_journal();
  const std::vector<std::byte> bytes = journal.bytes();
  const Fd source = file_of(bytes);
  JournalReader reader(source);
  ASSERT_EQ(reader.open(), Verdict::clean);
  EXPECT_EQ(target_of(reader.header()), (FileIdentity{8, 9, 10, 11, 0}));
  EXPECT_EQ(reader.header().kind, LogKind::ledger);
  EXPECT_EQ(reader.state().state, LogState::open);
  EXPECT_EQ(read_all(journal.bytes()).records, journal.written);
  const Summary summary = scan(source);
  EXPECT_EQ(summary.verdict, Verdict::clean);
  EXPECT_EQ(summary.records, 5U);
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
    if (size < sizeof(Start)) {
      EXPECT_TRUE(back.records.empty()) << size;
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
  const Fd source = file_of(whole);
  JournalReader reader(source);
  ASSERT_EQ(reader.open(), Verdict::clean);
  starts.push_back(reader.position());
  for (Record record; reader.next(record);) starts.push_back(reader.position());
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
  TestJournal other(Identity{LogKind::ledger, {8, 10}, 0, "/other"});
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

// A crash in the middle of a sync may keep later records and lose earlier ones. Records that were promised as
// safe stay whole.
TEST(Journal, ACommitTellsWhatWasSafeBeforeItWasWritten) {
  TestJournal journal;
  journal.append(0, "first");
  journal.writer->sync();
  while (journal.writer->stable() == 0) {
    const Fd source = file_of(journal.storage->contents(0));
    ASSERT_EQ(scan(source).commits, 0U) << "nothing is safe yet";
    journal.round();
    if (journal.writer->written() == 1 && journal.written.size() == 1) journal.append(100, "later");
  }
  journal.finish();
  const std::vector<std::byte> bytes = journal.bytes();
  const Fd whole = file_of(bytes);
  EXPECT_EQ(scan(whole).commits, 1U);
  EXPECT_EQ(scan(whole).records, 2U);
  const auto somebody_counts_on = [&bytes](std::string_view what) {
    std::vector<std::byte> damaged = bytes;
    const auto same = [](std::byte one, char other) { return one == static_cast<std::byte>(other); };
    const auto at = std::search(damaged.begin(), damaged.end(), what.begin(), what.end(), same);
    *at = std::byte{0};
    const Fd source = file_of(damaged);
    const Summary summary = scan(source);
    EXPECT_EQ(summary.verdict, Verdict::corrupt);
    return commit_behind(source, summary);
  };
  EXPECT_TRUE(somebody_counts_on("first"));
  EXPECT_FALSE(somebody_counts_on("later")) << "the commit behind it is of what was safe before";
}

TEST(Journal, ABeginThatNoWriterLeavesIsCorrupt) {
  const std::vector<std::byte> bytes = small_journal().bytes();
  for (const LogPlace& begin : {LogPlace{8, 0, 0}, LogPlace{sizeof(Start) + 4, 0, 0}, LogPlace{0, 1, 0},
                                LogPlace{UINT64_MAX - 7, 0, 0}, LogPlace{sizeof(Start) + 64, 2, 8},
                                LogPlace{sizeof(Start) + 64, 1, 65}}) {
    Start start{};
    std::memcpy(&start, bytes.data(), sizeof start);
    start.sector.begin = begin;
    start.sector = sealed(start.sector, start.header.checksum);
    std::vector<std::byte> wrong = bytes;
    std::memcpy(wrong.data(), &start, sizeof start);
    EXPECT_EQ(read_all(wrong).verdict, Verdict::corrupt) << begin.position;
  }
}

TEST(Journal, AnUnknownKindIsCorrupt) {
  TestJournal journal = small_journal();
  std::vector<std::byte> bytes = journal.bytes();
  FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.kind = static_cast<LogKind>(4);
  header.checksum = header_checksum(header);
  std::memcpy(bytes.data(), &header, sizeof header);
  EXPECT_EQ(read_all(bytes).verdict, Verdict::corrupt);
}

TEST(Journal, PathLongerThanItsFieldIsCut) {
  TestJournal journal(Identity{LogKind::overflow, {2, 3}, 4, std::string(10'000, 'p')});
  journal.finish();
  const std::vector<std::byte> bytes = journal.bytes();
  const Fd source = file_of(bytes);
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
  const Fd source = file_of(bytes);
  EXPECT_TRUE(scan(source).committed);
}

}  // namespace
}  // namespace millrace::journal
