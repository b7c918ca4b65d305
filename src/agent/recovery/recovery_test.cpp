// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/recovery/recovery.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <cstring>
#include <optional>
#include <random>
#include <thread>

#include "agent/recovery/testing/recovery_rig.hpp"

namespace millrace::agent {
namespace {

TEST_F(Recovery, LaterRecordsAndLaterJournalsWin) {
  put("b", {{10, "aaaaaa"}, {0, "bbbb"}, {12, "cc"}}, 1);
  put("a", {{15, "dd"}, {95, "at the end"}}, 2);
  const Ran ran = run();
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_NE(ran.out.find(target + ": recovered 3 records, 12 bytes"), std::string::npos) << ran.out;
  const std::string now = content();
  EXPECT_EQ(now.substr(0, 20), "bbbb......aaccadd...");
  EXPECT_EQ(now.substr(95), "at the end");
  EXPECT_FALSE(fs::exists(folder()));
  EXPECT_EQ(run().status, 0) << "again";
  EXPECT_EQ(content(), now);
}

TEST_F(Recovery, OfOneTickWhatARankHasSavedIsNewerThanItsLedger) {
  journal::Identity rescue = identity(1);
  rescue.kind = journal::LogKind::rescue;
  put("100-1", {{10, "saved"}}, rescue);
  put("99-1", {{10, "older"}}, 1);
  EXPECT_EQ(run().status, 0);
  EXPECT_EQ(content().substr(10, 5), "saved");
}

TEST_F(Recovery, WhatSomebodyHasWrittenWithoutComesBackOnlyByForce) {
  put("a", {{0, "older"}}, 1);
  put("b", {{1, "new"}}, 2);
  pass_over("a");
  Ran ran = run();
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.error.find(target + " was opened for writing without these 1 records, 5 bytes"),
            std::string::npos)
      << ran.error;
  EXPECT_EQ(content().substr(0, 6), ".new..") << "a later one does not wait for it";
  EXPECT_FALSE(fs::exists(place("b")));
  EXPECT_TRUE(passed_over("a")) << "looking at it changes nothing";
  ran = run({.force = true});
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_EQ(content().substr(0, 6), "older.");
}

TEST_F(Recovery, ADryRunOnlySays) {
  put("a", {{0, "new"}});
  const Ran ran = run({.dry_run = true});
  EXPECT_EQ(ran.status, 0);
  EXPECT_NE(ran.out.find("1 records, 3 bytes for " + target), std::string::npos) << ran.out;
  EXPECT_EQ(content(), std::string(100, '.'));
  EXPECT_TRUE(fs::exists(place("a")));
}

TEST_F(Recovery, AHeaderThatACrashLeftInPartsHadNothingSafeBehindIt) {
  std::vector<std::byte> bytes = committed(false);
  std::fill(bytes.begin() + 512, bytes.begin() + 1024, std::byte{7});
  put("committed", bytes);
  EXPECT_EQ(run().status, 1) << "somebody may have been told that it is safe";
  EXPECT_TRUE(fs::exists(place("committed")));
  fs::remove(place("committed"));

  journal::TestJournal made(identity());
  made.append(0, "one.");
  made.finish();
  bytes = made.bytes();
  std::fill(bytes.begin() + 512, bytes.begin() + 1024, std::byte{7});
  put("begun", bytes);
  std::fill(bytes.begin(), bytes.begin() + 4096, std::byte{0});
  put("zeros", bytes);
  std::fill(bytes.begin(), bytes.begin() + 4096, std::byte{'x'});
  put("foreign", bytes);
  const Ran ran = run();
  EXPECT_EQ(ran.status, 1);
  EXPECT_FALSE(fs::exists(place("begun")));
  EXPECT_FALSE(fs::exists(place("zeros")));
  EXPECT_TRUE(fs::exists(place("foreign"))) << "not ours";
  EXPECT_EQ(content().substr(0, 4), "....");
}

TEST_F(Recovery, ATornTailWasNeverAcknowledged) {
  std::vector<std::byte> bytes = committed(false);
  bytes.resize(bytes.size() - 3);
  put("a", bytes);
  EXPECT_EQ(run().status, 0);
  EXPECT_EQ(content().substr(0, 4), "one.");
  EXPECT_EQ(content().substr(50, 4), "....");
}

TEST_F(Recovery, DamageBehindTheLastCommitIsATailDamageBeforeItIsRefused) {
  put("a", damaged(committed(false)));
  EXPECT_EQ(run().status, 0);
  EXPECT_EQ(content().substr(0, 4), "one.");
  put("a", committed(true));
  std::vector<std::byte> bytes = committed(true);
  bytes[sizeof(journal::Start) + journal::record_bytes(4) + sizeof(journal::RecordHeader)] ^=
      std::byte{1};  // "two."
  put("a", bytes);
  std::ofstream(target) << std::string(100, '.');
  const Ran refused = run();
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.error.find("corrupt"), std::string::npos) << refused.error;
  EXPECT_EQ(content(), std::string(100, '.')) << "nothing of it is used";
  EXPECT_TRUE(fs::exists(place("a")));
  EXPECT_EQ(run({.force = true}).status, 0);
  EXPECT_EQ(content().substr(0, 4), "one.");
}

TEST_F(Recovery, DamageIsNoCrashIfTheNodeHasNotGoneDownSince) {
  journal::Identity who = identity();
  who.boot = Pace().boot();
  for (const std::size_t at : {std::size_t{100}, std::size_t{4100}, std::size_t{4096 + 512 + 60}}) {
    journal::TestJournal made(who);
    made.append(0, "one.");
    made.append(50, "two.");
    made.finish();
    std::vector<std::byte> bytes = made.bytes();
    bytes[at] ^= std::byte{1};
    put("a", bytes);
    const Ran ran = run();
    EXPECT_EQ(ran.status, 1) << at << ran.out << ran.error;
    EXPECT_TRUE(fs::exists(place("a"))) << at << ": it was not committed, but its agent alone has died";
    EXPECT_EQ(content(), std::string(100, '.'));
  }
}

TEST_F(Recovery, AJournalWithoutAWholeHeaderHasNoRecord) {
  journal::Identity who = identity();
  who.boot = Pace().boot();
  const std::vector<std::byte> bytes = journal::TestJournal(who).bytes();
  put("full disk", std::span(bytes).first(1563));
  const Ran ran = run();
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_NE(ran.out.find("its header was not written"), std::string::npos) << ran.out;
  EXPECT_FALSE(fs::exists(place("full disk")));
}

TEST_F(Recovery, AnotherFileOfThatNameIsRefused) {
  put("a", {{0, "new"}});
  fs::create_directory(root + "/elsewhere");
  fs::rename(target, root + "/elsewhere/other");
  EXPECT_EQ(run().status, 1) << "it is gone";
  std::ofstream(target) << "another file";
  const Ran refused = run();
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.error.find("not the file of this journal"), std::string::npos);
  EXPECT_EQ(content(), "another file");
  EXPECT_TRUE(fs::exists(place("a")));
  EXPECT_EQ(run({.force = true}).status, 0);
  EXPECT_EQ(content(), "newther file");
}

// A later file has got the inode number of the target.
TEST_F(Recovery, ANewFileWithTheOldNumberIsRefused) {
  journal::Identity born = identity(), handled = identity();
  born.target = {.device = born.target.device, .inode = born.target.inode, .birth_ns = 1};
  handled.target.birth_ns = 0;
  handled.target.handle ^= 1;
  put("born", {{0, "old"}}, born);
  if (handled.target.handle > 1) put("handled", {{0, "old"}}, handled);
  const Ran ran = run();
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.error.find(target + " is not the file of this journal"), std::string::npos) << ran.error;
  EXPECT_NE(ran.error.find("--discard"), std::string::npos) << ran.error;
  EXPECT_EQ(content(), std::string(100, '.'));
  EXPECT_TRUE(fs::exists(place("born")));
}

TEST_F(Recovery, AJournalOfTheOldFileDoesNotHoldUpThoseOfTheNewOne) {
  journal::Identity old = identity(1);
  old.target.birth_ns = 1;
  put("a", {{0, "old"}}, old);
  put("b", {{0, "new"}}, 2);
  const Ran ran = run();
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(content().substr(0, 4), "new.");
  EXPECT_TRUE(fs::exists(place("a")));
  EXPECT_FALSE(fs::exists(place("b")));
}

TEST_F(Recovery, WhereNumbersAreAllThatIsToldNothingIsWrittenWithoutForce) {
  journal::Identity numbers = identity();
  numbers.target = {.device = numbers.target.device, .inode = numbers.target.inode};
  put("a", {{0, "new"}}, numbers);
  const Ran ran = run();
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.error.find(target + " may be another file"), std::string::npos) << ran.error;
  EXPECT_NE(ran.error.find("--force"), std::string::npos) << ran.error;
  EXPECT_EQ(content(), std::string(100, '.'));
  EXPECT_EQ(run({.force = true}).status, 0);
  EXPECT_EQ(content().substr(0, 4), "new.");
}

TEST_F(Recovery, AJournalOfAnEarlierVersionIsNotUsed) {
  std::vector<std::byte> bytes = committed(true);
  journal::FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.version = 3;
  header.checksum = journal::header_checksum(header);
  std::memcpy(bytes.data(), &header, sizeof header);
  put("a", bytes);
  const Ran ran = run();
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.error.find("format version 3, and this build reads version 6 only"), std::string::npos)
      << ran.error;
  EXPECT_EQ(content(), std::string(100, '.'));
  EXPECT_TRUE(fs::exists(place("a")));
  // The records of this log begin at the place where this version's state ends.
  bytes.resize(sizeof header + journal::record_bytes(1));
  std::fill(bytes.begin() + sizeof header, bytes.end(), std::byte{7});
  put("a", bytes);
  EXPECT_EQ(run({.force = true}).status, 1);
  EXPECT_EQ(content(), std::string(100, '.'));
  EXPECT_TRUE(fs::exists(place("a")));
  EXPECT_EQ(list().out, place("a") + ": a Millrace journal of format version 3; dead\n");
}

TEST_F(Recovery, AJournalWaitsForAnOlderOneThatCannotBeUsed) {
  put("a", {{0, "old"}}, 1);
  put("b", {{0, "new"}}, 2);
  ASSERT_EQ(::chmod(target.c_str(), 0), 0);
  fs::create_directory(root + "/elsewhere");
  fs::rename(target, root + "/elsewhere/away");
  EXPECT_EQ(run().status, 1);
  EXPECT_TRUE(fs::exists(place("a")) && fs::exists(place("b")));
}

TEST_F(Recovery, WhatIsNoJournalIsLeftAlone) {
  const std::string text(5000, 'x');
  put("a", std::as_bytes(std::span(text)));
  put("empty", {}, 1);
  std::ofstream(place("nothing")).flush();
  const Ran ran = run();
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.error.find("not a Millrace journal"), std::string::npos);
  EXPECT_TRUE(fs::exists(place("a")));
  EXPECT_FALSE(fs::exists(place("nothing"))) << "its agent died before the header was there";
}

TEST_F(Recovery, AJournalThatCannotBeOpenedIsToldAndHoldsUpThoseOfItsFile) {
  put("a", {{0, "new"}});
  const std::string unopened = folder() + "/1-2" + journal::suffix_of(io::identify(target)->inode);
  fs::create_directory(unopened);  // also if root runs the test
  const Ran listed = list();
  EXPECT_EQ(listed.status, 1);
  EXPECT_NE(listed.error.find(unopened), std::string::npos) << listed.out;
  const Ran ran = run();
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.error.find(unopened), std::string::npos) << ran.error;
  EXPECT_TRUE(fs::exists(place("a")));
  EXPECT_EQ(content(), std::string(100, '.'));
  fs::remove(place("a"));
  EXPECT_EQ(run().status, 1);
  EXPECT_EQ(run().error, ran.error.substr(0, ran.error.find('\n') + 1));
}

TEST_F(Recovery, AFolderThatOthersMayChangeIsNotUsed) {
  put("a", {{0, "new"}});
  fs::permissions(folder(), fs::perms::all);
  const Ran ran = run();
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.error.find("not the user's own"), std::string::npos);
  EXPECT_EQ(content(), std::string(100, '.'));
}

TEST_F(Recovery, JournalsOfLivingAgentsAreLeftAloneAndDrainWaitsForThem) {
  put("a", {{0, "new"}});
  std::optional<Fd> owner = *io::open_owned(place("a"));
  ASSERT_TRUE(io::take_lock(*owner));
  const Ran ran = run();
  EXPECT_EQ(ran.status, 0);
  EXPECT_NE(ran.out.find("still in use"), std::string::npos);
  EXPECT_EQ(content(), std::string(100, '.'));
  const Ran waited = run({.drain = true, .timeout_ms = 200});
  EXPECT_EQ(waited.status, 1);
  EXPECT_NE(waited.error.find("no progress"), std::string::npos);
  std::thread dies([&] {
    ::usleep(100'000);  // usually the other thread waits by now; if not, its answer is the same
    owner.reset();
  });
  EXPECT_EQ(run({.drain = true}).status, 0);
  dies.join();
  EXPECT_EQ(content().substr(0, 3), "new");
}

TEST_F(Recovery, ManyAtTheSameTimeDoItOnce) {
  for (int i = 0; i < 8; ++i)
    put(std::to_string(i), {{static_cast<std::uint64_t>(i), std::string(1, static_cast<char>('0' + i))}});
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { failed += run().status != 0 ? 1 : 0; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(content().substr(0, 8), "01234567");
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(Recovery, ManyRecordsOverlappingAnywhereAreAsIfWrittenInOrder) {
  std::uint64_t seed = 11;
  if (const char* given = std::getenv("MILLRACE_TEST_SEED")) seed = std::strtoull(given, nullptr, 10);
  std::printf("seed %lu\n", static_cast<unsigned long>(seed));
  std::mt19937_64 random(seed);
  std::string expected(100, '.');
  std::vector<journal::Written> records;
  for (int i = 0; i < 4000; ++i) {
    const std::string data(1 + random() % 9000, static_cast<char>('a' + i % 26));
    const std::uint64_t offset = random() % (4 * MiB);
    if (expected.size() < offset + data.size()) expected.resize(offset + data.size());
    expected.replace(offset, data.size(), data);
    records.emplace_back(offset, data);
  }
  put("a", records);
  EXPECT_EQ(run().status, 0);
  EXPECT_TRUE(content() == expected);
}

}  // namespace
}  // namespace millrace::agent
