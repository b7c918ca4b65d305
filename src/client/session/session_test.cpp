// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/session/session.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.hpp"
#include "client/session/testing/null_agent.hpp"
#include "client/session/testing/silent_contact.hpp"
#include "journal/test_journal.hpp"
#include "transport/line.hpp"
#include "transport/memory.hpp"

namespace millrace::client {
namespace {

struct TestFolder {
  std::string path = ::testing::TempDir() + "session_test-XXXXXX";
  TestFolder() {
    if (::mkdtemp(path.data()) == nullptr) std::abort();
  }
  ~TestFolder() { std::filesystem::remove_all(path); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
};

std::string all_journals(const std::string& folder) {
  std::string text;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    if (entry.is_regular_file()) text.append(std::istreambuf_iterator<char>(in), {});
  }
  return text;
}

journal::Identity rescue_of(std::uint64_t inode, const std::string& path) {
  return {journal::LogKind::rescue, {1, inode}, 0, path};
}

void protect(Session& session, std::uint64_t inode, const char* path) {
  session.with_protected([=](ProtectedFiles& files, std::uint32_t) {
    files.add({0, rescue_of(inode, path)});
  });
}

// A session with an agent that takes no records and then dies.
struct Lonely {
  TestFolder folder;
  bool gone = false;
  Session session;
  Tally tally;

  Lonely()
      : session({*transport::Producer::create(256 * KiB), page(),
                 std::make_unique<testing::SilentContact>([this] { return gone; }), 1000, true,
                 folder.path}) {
    protect(session, 100, "/data/file");
  }
  static transport::Mapping page() {
    const Result<Fd> memory = transport::make_memory("session_test", sizeof(transport::AgentPage));
    return *transport::map(memory->get(), sizeof(transport::AgentPage));
  }
};

struct Saved {
  std::uint64_t offset;
  std::vector<std::byte> data;
  bool operator==(const Saved&) const = default;
};

// The contents of the log that a rank leaves after its agent's death.
std::vector<Saved> saved_by(Lonely& rank) {
  rank.gone = true;
  EXPECT_EQ(rank.session.request(transport::Kind::sync, 0, everything, rank.tally).code(), Code::lost_agent);
  const std::string bytes = all_journals(rank.folder.path);
  const Fd source = journal::file_of(std::as_bytes(std::span(bytes)));
  journal::JournalReader reader(source);
  EXPECT_EQ(reader.open(), journal::Verdict::clean);
  std::vector<Saved> records;
  for (journal::Record record; reader.next(record);) {
    if (record.type == journal::Type::data)
      records.push_back({record.offset, {record.data.begin(), record.data.end()}});
  }
  EXPECT_TRUE(reader.committed());
  EXPECT_EQ(reader.verdict(), journal::Verdict::clean);
  return records;
}

// Makes small and large pieces at random offsets, some of them empty.
std::vector<Piece> any_pieces(std::span<const std::byte> memory, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Piece> pieces;
  for (std::size_t left = 1 + random() % 64; left > 0; --left) {
    const std::uint64_t most = random() % 8 == 0 ? 6000 : random() % 8 == 0 ? 2100 : 60;
    const std::uint64_t size = random() % 16 == 0 ? 0 : 1 + random() % most;
    pieces.push_back({random() % 1'000'000, memory.data() + random() % (memory.size() - 6000), size});
  }
  return pieces;
}

// Pieces of one call travel in bundles, and pieces of separate calls do not. The records are the same.
TEST(Session, RecordsInBundlesAreSavedAsRecordsBySingleCalls) {
  std::vector<std::byte> memory(64 * KiB);
  std::mt19937 random(1);
  for (std::byte& byte : memory) byte = static_cast<std::byte>(random());
  std::size_t bundled = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const std::vector<Piece> pieces = any_pieces(memory, seed);
    Lonely one, many;
    std::uint64_t bytes = 0;
    for (const Piece& piece : pieces) {
      ASSERT_TRUE(one.session.write(0, {&piece, 1}, 4 * KiB, one.tally).ok());
      bytes += piece.size;
    }
    ASSERT_TRUE(many.session.write(0, pieces, 4 * KiB, many.tally).ok());
    EXPECT_EQ(many.tally.counters.pieces, pieces.size());
    EXPECT_EQ(many.tally.counters.bytes, bytes);
    const std::vector<Saved> expected = saved_by(one);
    if (expected.size() < 2) continue;
    ASSERT_EQ(saved_by(many), expected) << seed;
    bundled += expected.size();
  }
  EXPECT_GT(bundled, 1000U);
}

TEST(Session, SmallPiecesOfOneCallAreOneFrameOfTheRing) {
  testing::NullAgent agent;
  const std::vector<std::byte> data(64 * 12);
  std::vector<Piece> pieces;
  for (std::uint64_t i = 0; i < 64; ++i) pieces.push_back({i * 48, data.data() + i * 12, 12});
  Tally tally;
  ASSERT_TRUE(agent.session->write(0, pieces, 32 * KiB, tally).ok());
  EXPECT_LE(agent.bytes_in_ring(), sizeof(transport::FrameHeader) + 64 * (12 + 2) + 8);
}

// The contact with an agent that never answers. Its loop turns, or stands still. Time passes by waits.
class SlowContact final : public testing::SilentContact {
 public:
  explicit SlowContact(transport::AgentPage& page) : SilentContact([] { return false; }), page_(page) {}
  std::uint64_t now_ns() const override { return now_ns_; }
  void wait_while(const std::atomic<std::uint32_t>&, std::uint32_t, std::uint32_t bound_ms) override {
    now_ns_ += std::uint64_t{bound_ms} * 1'000'000;
    if (turns) ++page_.progress;
  }
  void say(const std::string& line) override { said.push_back(line); }

  bool turns = true;
  std::vector<std::string> said;

 private:
  transport::AgentPage& page_;
  std::uint64_t now_ns_ = 1;
};

// A rank waits for the storage as long as its agent's loop turns, up to the long bound.
TEST(Session, AStallOfTheStorageIsWaitedForAndASilentLoopIsNot) {
  const std::size_t page_bytes = sizeof(transport::AgentPage);
  const Result<Fd> memory = transport::make_memory("session_test", page_bytes);
  for (const bool turns : {true, false}) {
    transport::Mapping mapping = *transport::map(memory->get(), page_bytes);
    auto* const page = reinterpret_cast<transport::AgentPage*>(mapping.data());
    auto contact = std::make_unique<SlowContact>(*page);
    SlowContact& slow = *contact;
    slow.turns = turns;
    transport::write_line(page->stall.where, "/data/file: the file system (nfs4 server:/data)");
    transport::write_line(page->said, "another line");
    page->stall.silent_ms.store(1000);
    SessionParts parts{*transport::Producer::create(64 * KiB), std::move(mapping), std::move(contact), 1000,
                       true};
    parts.storage_timeout_ms = 5000;
    Session session(std::move(parts));
    Tally tally;
    const std::uint64_t begin_ns = slow.now_ns();
    EXPECT_EQ(session.request(transport::Kind::sync, 0, everything, tally).code(), Code::timeout);
    EXPECT_EQ((slow.now_ns() - begin_ns) / 1'000'000, turns ? 5000u : 1000u);
    ASSERT_EQ(slow.said.size(), turns ? 2u : 1u);
    EXPECT_EQ(slow.said.back(), "another line");
    const std::string line = turns ? slow.said[0] : "";
    EXPECT_EQ(line.starts_with("/data/file: the file system (nfs4 server:/data) has not answered"), turns);
  }
}

// A rank that waits for others sleeps first until the agent has its records. Another thread may write
// meanwhile.
TEST(Session, ARankWaitsUntilItsRecordsAreTakenOrTheAgentSleepsOrHasGone) {
  class PausedContact final : public testing::SilentContact {
   public:
    explicit PausedContact(std::function<bool()> after) : SilentContact(std::move(after)) {}
    std::uint64_t now_ns() const override { return now_ns_; }
    void pause(std::uint32_t for_ms) override { now_ns_ += std::uint64_t{for_ms} * 1'000'000; }

   private:
    std::uint64_t now_ns_ = 1;
  };
  enum class End { taken, sleeps, gone, never };
  for (const End end : {End::taken, End::sleeps, End::gone, End::never}) {
    transport::Producer producer = *transport::Producer::create(64 * KiB);
    transport::RingHeader& ring = producer.header();
    transport::Mapping mapping = Lonely::page();
    auto* const page = reinterpret_cast<transport::AgentPage*>(mapping.data());
    int looks = 0;
    auto contact = std::make_unique<PausedContact>([&] {
      if (++looks < 5) return false;
      if (end == End::taken) ring.head.store(ring.tail.load());
      if (end == End::sleeps) page->sleeping.store(1);
      return end == End::gone;
    });
    const PausedContact& time = *contact;
    Session session(SessionParts{std::move(producer), std::move(mapping), std::move(contact), 1000, true});
    const std::uint64_t begin_ns = time.now_ns();
    session.wait_until_taken();
    EXPECT_EQ(time.now_ns(), begin_ns) << "nothing is in the ring";
    const std::vector<std::byte> data(100);
    const Piece piece{0, data.data(), data.size()};
    Tally tally;
    ASSERT_TRUE(session.write(0, {&piece, 1}, 4 * KiB, tally).ok());
    session.wait_until_taken();
    const std::uint64_t waited_ms = (time.now_ns() - begin_ns) / 1'000'000;
    EXPECT_EQ(waited_ms, end == End::never ? 1000U : end == End::gone ? 4U : 5U);
  }
}

TEST(CallLock, ComesFreeUnlessASectionKeepsIt) {
  using std::chrono::milliseconds;
  CallLock lock(true);
  EXPECT_TRUE(lock.comes_free(milliseconds(0)));
  lock.lock();
  EXPECT_FALSE(lock.comes_free(milliseconds(60'000))) << "this thread cannot go on";
  bool free = true;
  std::thread([&] { free = lock.comes_free(milliseconds(50)); }).join();
  EXPECT_FALSE(free);
  std::thread waits([&] { free = lock.comes_free(milliseconds(60'000)); });
  lock.unlock();
  waits.join();
  EXPECT_TRUE(free);
}

// The agent reuses a slot after its file is closed.
TEST(Session, WhatIsSavedIsOfTheFileThatHasTheNumberNow) {
  const TestFolder folder;
  const std::size_t page_bytes = sizeof(transport::AgentPage);
  const Result<Fd> memory = transport::make_memory("session_test", page_bytes);
  bool gone = false;
  Session session({*transport::Producer::create(64 * KiB), *transport::map(memory->get(), page_bytes),
                   std::make_unique<testing::SilentContact>([&gone] { return gone; }), 1000, true,
                   folder.path});
  protect(session, 100, "/data/closed");
  protect(session, 200, "/data/open");
  const std::string bytes = "of the second file";
  const Piece piece{0, bytes.data(), bytes.size()};
  Tally tally;
  ASSERT_TRUE(session.write(0, {&piece, 1}, 4 * KiB, tally).ok());
  gone = true;
  EXPECT_EQ(session.request(transport::Kind::sync, 0, everything, tally).code(), Code::lost_agent);
  const std::string saved = all_journals(folder.path);
  EXPECT_NE(saved.find("/data/open"), std::string::npos);
  EXPECT_NE(saved.find(bytes), std::string::npos);
  EXPECT_EQ(saved.find("/data/closed"), std::string::npos);
}

// Another file, with another strategy, may have the slot.
TEST(ProtectedFiles, StayUntilTheirLastCloseIsAnswered) {
  ProtectedFiles files;
  for (int opens = 0; opens < 2; ++opens) files.add({3, rescue_of(100, "/data/twice")});
  files.add({4, rescue_of(200, "/data/once")});
  files.end(3);
  files.end(4);
  const std::vector<Protected> left = files.take();
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].identity.path, "/data/twice");
  files.add({3, rescue_of(100, "/data/twice")});
  files.end(3);
  EXPECT_TRUE(files.take().empty());
}

// Request 0 stands for no request, and the agent ends the connection with a rank that sends it.
TEST(RequestNumbers, NoneIsZeroAndNoneIsThatOfTheLastAnswer) {
  transport::ReplySlot replies[transport::reply_slots] = {};
  RequestNumbers numbers((1u << 28) - 1);
  std::uint32_t last = UINT32_MAX;
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t number = *numbers.take(replies);
    EXPECT_NE(number, 0u);
    EXPECT_EQ(number % transport::reply_slots, 0u);
    EXPECT_NE(number, last);
    replies[0].done = last = number;
    numbers.give_back(number);
  }
  // 2^28 requests ago this slot had the number that is next now.
  replies[0].done = last + transport::reply_slots;
  EXPECT_NE(*numbers.take(replies), last + transport::reply_slots);
}

TEST(RequestNumbers, EachPendingRequestHasASlotOfItsOwn) {
  transport::ReplySlot replies[transport::reply_slots] = {};
  RequestNumbers numbers((1u << 28) - 3);
  std::set<std::uint32_t> pending, slots;
  for (std::uint32_t i = 0; i < transport::reply_slots; ++i) {
    pending.insert(*numbers.take(replies));
    slots.insert(*pending.rbegin() % transport::reply_slots);
  }
  EXPECT_EQ(pending.size(), transport::reply_slots);
  EXPECT_FALSE(pending.contains(0));
  EXPECT_FALSE(numbers.take(replies));
  numbers.give_back(5);
  EXPECT_EQ(*numbers.take(replies) % transport::reply_slots, 5u);
}

}  // namespace
}  // namespace millrace::client
