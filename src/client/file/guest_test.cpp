// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Tests what a handle without a part in the pipeline asks the agent.
#include "client/file/guest.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include "client/file/testing/scripted_process.hpp"
#include "client/session/testing/silent_contact.hpp"

namespace millrace::client {
namespace {

using transport::Kind;

constexpr std::uint64_t number = 7;  // of the file

// Answers all requests, and notes their kinds.
class Answering final : public testing::SilentContact {
 public:
  explicit Answering(transport::Consumer ring, std::vector<Kind>& asked)
      : SilentContact([] { return false; }), ring_(std::move(ring)), asked_(asked) {}
  void wait_while(const std::atomic<std::uint32_t>&, std::uint32_t, std::uint32_t) override {
    ASSERT_TRUE(ring_.snapshot());
    while (!ring_.empty()) {
      transport::FrameHeader frame{};
      const std::byte* payload = nullptr;
      ASSERT_TRUE(ring_.peek(frame, payload));
      asked_.push_back(frame.kind);
      ring_.consume(frame);
      ring_.answer(frame.request, Status());
    }
  }

 private:
  transport::Consumer ring_;
  std::vector<Kind>& asked_;
};

class GuestTest : public ::testing::Test {
 protected:
  class Joined final : public testing::ScriptedProcess {
   public:
    Session* session(bool, Reason&) override { return agent.get(); }
    std::unique_ptr<Session> agent;
  };

  void SetUp() override {
    auto producer = *transport::Producer::create(64 * KiB);
    auto ring = *transport::Consumer::attach(Fd(::dup(producer.memory())), 64 * KiB);
    const Fd memory = *transport::make_memory("page", sizeof(transport::AgentPage));
    transport::Mapping mapping = *transport::map(memory.get(), sizeof(transport::AgentPage));
    page_ = reinterpret_cast<transport::AgentPage*>(mapping.data());
    page_->files[0].number.store(number);
    page_->files[0].fresh.store(UINT64_MAX);
    page_->slots.store(1);
    page_->openings.store(1);
    process_.agent = std::make_unique<Session>(
        SessionParts{std::move(producer), std::move(mapping),
                     std::make_unique<Answering>(std::move(ring), asked_), 1000, true});
  }
  transport::SharedFileState& file() { return page_->files[0]; }

  Joined process_;
  transport::AgentPage* page_ = nullptr;
  std::vector<Kind> asked_;
};

// The agent logs records when it takes them out of rings. A ledger that forgot before that would have them.
TEST_F(GuestTest, BeforeItWritesTheLedgerForgetsWhatTheRingsHad) {
  file().dirty.store(transport::state_dirty);
  file().kept.store(1);
  EXPECT_TRUE(Guest(process_).before_writing(number, everything).ok());
  EXPECT_EQ(asked_, (std::vector{Kind::flush, Kind::sync}));
}

TEST_F(GuestTest, BeforeItReadsTheLedgerMayStay) {
  file().dirty.store(transport::state_dirty);
  file().kept.store(1);
  EXPECT_TRUE(Guest(process_).before_reading(number, everything).ok());
  EXPECT_EQ(asked_, std::vector{Kind::flush});
}

TEST_F(GuestTest, OfAFileWithoutPendingBytesNothingIsAsked) {
  EXPECT_TRUE(Guest(process_).before_writing(number, everything).ok());
  EXPECT_TRUE(Guest(process_).before_reading(number, everything).ok());
  EXPECT_TRUE(asked_.empty());
}

}  // namespace
}  // namespace millrace::client
