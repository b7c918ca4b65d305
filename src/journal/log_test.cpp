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

TEST(Log, ItsStateIsSeenWhenItIsWrittenBesideTheRecords) {
  TestJournal journal;
  const auto state = [&journal] {
    const Fd source = file_of(journal.storage->contents(0));
    JournalReader reader(source);
    EXPECT_EQ(reader.open(), Verdict::clean);
    return reader.state();
  };
  EXPECT_EQ(state().state, LogState::open);
  const std::uint64_t progress = state().progress;
  journal.append(0, "something");
  journal.writer->flush();
  journal.writer->set_state(LogState::draining);
  journal.writer->set_agent(7);  // while the first state is in flight
  EXPECT_EQ(state().state, LogState::open);
  while (state().agent == 0) journal.round();
  EXPECT_EQ(state().state, LogState::draining);
  EXPECT_EQ(state().progress, progress);
  journal.writer->show_life(true);
  journal.drain();
  EXPECT_NE(state().progress, progress);
  EXPECT_EQ(state().state, LogState::draining);
  journal.writer->set_state(LogState::open);
  journal.drain();
  EXPECT_EQ(state().state, LogState::open);
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
    segments.push_back({journal.writer->file_bytes(), journal.writer->records(), 0});
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

TEST(Log, WhatIsWrittenAfterARewindIsReadBack) {
  TestJournal journal;
  journal.append(7, std::string(90'000, 'a'));
  journal.writer->flush();
  journal.drain();
  journal.writer->rewind();
  Log::Segment segment = {journal.writer->file_bytes(), journal.writer->records(), 0};
  EXPECT_EQ(segment.position, sizeof(Start));
  journal.append(9, "newer");
  segment.bytes = journal.writer->file_bytes() - segment.position;
  journal.writer->flush();
  journal.drain();
  journal.writer->read(segment);
  while (journal.writer->reading()) journal.round();
  std::string back;
  EXPECT_TRUE(journal.writer
                  ->take([&back](std::uint64_t offset, std::span<const std::byte> data) {
                    EXPECT_EQ(offset, 9U);
                    back.append(reinterpret_cast<const char*>(data.data()), data.size());
                  })
                  .ok());
  EXPECT_EQ(back, "newer");
}

TEST(Log, WhatIsReadBackIsWhatWasWrittenOrAnError) {
  TestJournal journal;
  Log::Segment segment = {journal.writer->file_bytes(), journal.writer->records(), 0};
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
  const LogPlace place = journal.writer->place();
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
