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

// A small journal with records in no order, a commit, and odd lengths.
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
  const Fd source = file_of(bytes);
  JournalReader reader(source);
  ASSERT_EQ(reader.open(), Verdict::clean);
  EXPECT_EQ(target_of(reader.header()), (FileIdentity{8, 9, 10, 11, 0}));
  EXPECT_EQ(reader.header().kind, Kind::ledger);
  EXPECT_EQ(reader.state().state, State::open);
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
  TestJournal other(Identity{Kind::ledger, {8, 10}, 0, "/other"});
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

TEST(Journal, AnUnknownKindIsCorrupt) {
  TestJournal journal = small_journal();
  std::vector<std::byte> bytes = journal.bytes();
  FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.kind = static_cast<Kind>(4);
  header.checksum = header_checksum(header);
  std::memcpy(bytes.data(), &header, sizeof header);
  EXPECT_EQ(read_all(bytes).verdict, Verdict::corrupt);
}

TEST(Journal, PathLongerThanItsFieldIsCut) {
  TestJournal journal(Identity{Kind::overflow, {2, 3}, 4, std::string(10'000, 'p')});
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

TEST(Log, ItsStateIsSeenAtOnce) {
  TestJournal journal;
  const auto state = [&journal] {
    const Fd source = file_of(journal.storage->contents(0));
    JournalReader reader(source);
    EXPECT_EQ(reader.open(), Verdict::clean);
    return reader.state();
  };
  EXPECT_EQ(state().state, State::open);
  const std::uint64_t progress = state().progress;
  journal.append(0, "something");
  journal.writer->flush();
  journal.writer->set_state(State::draining);
  EXPECT_EQ(state().state, State::draining) << "a write is in flight";
  EXPECT_EQ(state().progress, progress);
  journal.writer->show_life(true);
  EXPECT_NE(state().progress, progress);
  EXPECT_EQ(state().state, State::draining);
  journal.finish();
  EXPECT_EQ(read_all(journal.bytes()).records, journal.written);
  EXPECT_EQ(journal.storage->misuse(), io::Misuse{});
}

TEST(Log, AStateThatNeverCameToTheDiskIsOpenAndADamagedOneIsCorrupt) {
  TestJournal journal = small_journal();
  std::vector<std::byte> bytes = journal.bytes();
  const auto sector = std::span(bytes).subspan(sizeof(FileHeader), sizeof(StateSector));
  sector[0] = std::byte{9};
  EXPECT_EQ(read_all(bytes).verdict, Verdict::corrupt);
  std::ranges::fill(sector, std::byte{0});
  EXPECT_EQ(read_all(bytes).verdict, Verdict::clean);
  EXPECT_EQ(read_all(bytes).records, journal.written);
  bytes.resize(sizeof(FileHeader));
  EXPECT_EQ(read_all(bytes).verdict, Verdict::clean);
}

TEST(Log, SegmentsAreReadBackInAnyOrder) {
  TestJournal journal;
  std::mt19937_64 random(5);
  std::vector<Log::Segment> segments;
  std::vector<std::size_t> first = {0};
  for (int i = 0; i < 40; ++i) {
    journal.wait_ready();
    segments.push_back(journal.writer->end());
    for (std::uint64_t records = 1 + random() % 5; records > 0; --records)
      journal.append(random() % 1000, std::string(1 + random() % 90'000, static_cast<char>('a' + i % 26)));
    segments.back().bytes = journal.writer->file_bytes() - segments.back().position;
    first.push_back(journal.written.size());
    if (i % 7 == 0) journal.commit();
  }
  journal.writer->flush();
  journal.drain();
  for (int tries = 0; tries < 100; ++tries) {
    const std::size_t i = random() % segments.size();
    journal.writer->read(segments[i]);
    while (journal.writer->reading()) journal.round();
    std::vector<Written> back;
    EXPECT_TRUE(journal.writer
                    ->take([&back](std::uint64_t offset, std::span<const std::byte> data) {
                      back.emplace_back(offset,
                                        std::string(reinterpret_cast<const char*>(data.data()), data.size()));
                    })
                    .ok());
    EXPECT_TRUE(
        std::ranges::equal(back, std::span(journal.written).subspan(first[i], first[i + 1] - first[i])));
  }
  EXPECT_EQ(journal.storage->misuse(), io::Misuse{});
}

TEST(Log, WhatIsReadBackIsWhatWasWrittenOrAnError) {
  TestJournal journal;
  Log::Segment segment = journal.writer->end();
  journal.append(7, "some bytes");
  segment.bytes = journal.writer->file_bytes() - segment.position;
  journal.writer->flush();
  journal.drain();
  const std::vector<std::byte> right = journal.bytes();
  for (std::uint64_t at = segment.position; at < segment.position + segment.bytes; ++at) {
    std::vector<std::byte> wrong = right;
    wrong[at] ^= std::byte{1};
    journal.storage->assign(0, wrong);
    journal.writer->read(segment);
    while (journal.writer->reading()) journal.round();
    EXPECT_EQ(journal.writer->take([](auto, auto) {}).code(), Code::corrupt) << at;
  }
  journal.storage->assign(0, std::span(right).first(right.size() - 8));
  journal.writer->read(segment);
  while (journal.writer->reading()) journal.round();
  EXPECT_EQ(journal.writer->take([](auto, auto) {}).code(), Code::corrupt);
}

TEST(Log, SyncMakesRecordsStable) {
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

TEST(Log, ForgottenRecordsAreNotReadBack) {
  TestJournal journal;
  journal.append(100, "old");
  journal.commit();
  journal.append(200, "older");
  const Place place = journal.writer->place();
  journal.append(300, "new");
  journal.writer->forget(place);
  const std::vector<Written> later = {{300, "new"}, {400, "newer"}};
  journal.append(400, "newer");
  EXPECT_LT(journal.writer->forgotten(), place.records) << "not on the disk yet";
  journal.commit();
  EXPECT_EQ(journal.writer->forgotten(), place.records);
  journal.writer->forget({sizeof(Start), 0, 0});  // an earlier place
  journal.finish();
  std::vector<std::byte> bytes = journal.bytes();
  EXPECT_EQ(read_all(bytes).records, later);
  const Fd source = file_of(bytes);
  const Summary summary = scan(source);
  EXPECT_EQ(summary.records, 2U);
  EXPECT_EQ(summary.payload_bytes, 8U);
  EXPECT_TRUE(summary.committed);
  std::fill(bytes.begin() + sizeof(Start), bytes.begin() + static_cast<std::ptrdiff_t>(place.position),
            std::byte{1});
  EXPECT_EQ(read_all(bytes).records, later) << "nobody reads them";
  // A record that a commit names is damaged.
  bytes[place.position + sizeof(RecordHeader)] ^= std::byte{1};
  const Fd damaged = file_of(bytes);
  EXPECT_TRUE(commit_behind(damaged, scan(damaged)));
  bytes.resize(place.position - 8);
  const ReadBack cut = read_all(bytes);
  EXPECT_EQ(cut.verdict, Verdict::clean) << "a crash of the node may leave it";
  EXPECT_TRUE(cut.records.empty());
}

TEST(Log, ASyncIsNotPutOffByWhatComesLater) {
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

TEST(Log, KillAtAnyMomentLeavesACleanPrefix) {
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

TEST(Log, FullDiskSticksAndNothingHangs) {
  TestJournal journal(TestJournal::identity(), {.capacity_bytes = 3 * MiB});
  for (int i = 0; i < 200; ++i)
    journal.append(static_cast<std::uint64_t>(i) * 65'536, std::string(65'536, 'f'));
  journal.writer->sync();
  journal.drain();
  EXPECT_EQ(journal.writer->status().code(), Code::no_space);
  EXPECT_TRUE(journal.writer->idle());
  EXPECT_TRUE(journal.writer->ready());
}

TEST(Log, HoldsNoMoreThanTwoBatches) {
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
