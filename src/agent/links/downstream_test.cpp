// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Answers that a file server may send, and answers that end the link.
#include "agent/links/downstream.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include "transport/memory.hpp"
#include "transport/ring.hpp"
#include "transport/tcp.hpp"
#include "transport/tcp_net.hpp"
#include "transport/testing/link_rig.hpp"
#include "transport/want_list.hpp"

namespace millrace::agent {
namespace {

using transport::FrameHeader;
using transport::Kind;
namespace rig = transport::testing;

constexpr std::uint32_t request = 7;

class Answers : public testing::Test {
 protected:
  Answers() {
    const Result<Fd> listener = transport::tcp_listen(*transport::parse_address("127.0.0.1"));
    *to_ = {*transport::local_address(listener->get()), rig::test_key(), rig::test_introduction()};
    EXPECT_TRUE(to_->connect(net_, {}, now_ns_).ok());
    pollfd entry{listener->get(), POLLIN, 0};
    EXPECT_EQ(::poll(&entry, 1, 20'000), 1);
    server_.emplace(transport::tcp_stream(*transport::tcp_accept(listener->get())),
                    transport::Link::accepting(rig::test_lookup()), transport::LinkTimes{}, now_ns_);
  }

  void pump(int rounds = 200) {
    for (int i = 0; i < rounds; ++i) {
      pollfd entries[] = {{to_->io->socket(), POLLIN, 0}, {server_->socket(), POLLIN, 0}};
      (void)::poll(entries, 2, i < 5 ? 20 : 1);
      (void)to_->io->pump(now_ns_, true, true);
      to_->listen();
      (void)server_->pump(now_ns_, true, true);
      FrameHeader frame{};
      const std::byte* payload = nullptr;
      while (server_->link().next(frame, payload)) {
        heard_.push_back(frame);
        server_->link().consume();
      }
    }
  }
  std::uint64_t now_ns_ = transport::now_ns();
  transport::TcpNet net_;
  std::shared_ptr<Downstream> to_ =
      std::make_shared<Downstream>(Downstream{{}, rig::test_key(), rig::test_introduction()});
  std::unique_ptr<Carrier> carrier_ = make_carrier(to_, 4096, [] {});
  std::optional<transport::LinkIo> server_;
  std::vector<FrameHeader> heard_;
};

TEST_F(Answers, AMarkComesAfterTheRecordsThatItFollows) {
  const std::vector<std::byte> small(100), large(4000);
  carrier_->write(0, small);
  carrier_->mark(4096);
  carrier_->write(4096, large);
  carrier_->write(8192, small);
  carrier_->mark(UINT64_MAX);
  carrier_->flush();
  pump();
  std::vector<Kind> kinds;
  for (const FrameHeader& frame : heard_) kinds.push_back(frame.kind);
  EXPECT_EQ(kinds, (std::vector{Kind::records, Kind::mark, Kind::write, Kind::records, Kind::mark}));
  EXPECT_EQ(heard_.at(1).offset, 4096u);
  EXPECT_EQ(heard_.at(4).offset, UINT64_MAX);
  for (const FrameHeader& frame : heard_) EXPECT_TRUE(frame.kind != Kind::mark || transport::may_mark(frame));
}

TEST_F(Answers, ARequestComesAfterTheRecordsThatItCovers) {
  const std::vector<std::byte> small(100);
  carrier_->write(0, small);
  carrier_->request(Kind::sync, request, everything);
  carrier_->flush();
  pump();
  ASSERT_EQ(heard_.size(), 2u);
  EXPECT_EQ(heard_[0].kind, Kind::records);
  EXPECT_EQ(heard_[1].kind, Kind::sync);
}

// Two lists on their way: 300 bytes in two extents, and 50 bytes.
class Wants : public Answers {
 protected:
  static constexpr std::uint32_t other = 8;

  void SetUp() override {
    want(request, {{0, 100}, {1000, 1200}});
    want(other, {{40, 90}});
    carrier_->flush();
    pump();
    ASSERT_EQ(heard_.size(), 2u);
    EXPECT_EQ(heard_[0].kind, Kind::want);
  }
  void want(std::uint32_t number, const std::vector<Extent>& extents) {
    transport::WantWriter writer(transport::want_max_payload);
    for (const Extent extent : extents) EXPECT_TRUE(writer.add(extent));
    carrier_->want(number, writer.finish());
  }
  void bring(std::uint32_t number, std::uint32_t position, std::size_t size, std::uint64_t change = 0) {
    const std::vector<std::byte> bytes(size, static_cast<std::byte>(number));
    FrameHeader frame{};
    frame.kind = Kind::wanted;
    frame.request = number;
    frame.offset = position;
    frame.checksum =
        transport::record_checksum(bytes.data(), static_cast<std::uint32_t>(size), position) ^ change;
    server_->link().put(frame, bytes);
    server_->link().flush();
    pump(6);
  }
};

TEST_F(Wants, BytesOfSeveralListsComeInTheOrderOfEach) {
  bring(request, 0, 150);
  bring(other, 0, 50);
  bring(request, 150, 150);
  Carrier::Wanted wanted;
  std::vector<std::pair<std::uint32_t, std::size_t>> come;
  while (carrier_->take_wanted(wanted)) {
    come.emplace_back(wanted.request, wanted.bytes.size());
    EXPECT_EQ(wanted.bytes.front(), static_cast<std::byte>(wanted.request));
  }
  EXPECT_EQ(come, (std::vector<std::pair<std::uint32_t, std::size_t>>{{7, 150}, {8, 50}, {7, 150}}));
  EXPECT_TRUE(carrier_->status().ok());
}

TEST_F(Wants, BytesThatAreNotTakenWaitInTheLink) {
  for (std::uint32_t i = 0; i < 30; ++i) bring(request, i * 10, 10);
  EXPECT_LE(to_->wanted.size(), 4u);
  std::size_t all = 0;
  for (Carrier::Wanted wanted; all < 300; to_->listen()) {
    ASSERT_TRUE(carrier_->take_wanted(wanted));
    all += wanted.bytes.size();
  }
  EXPECT_EQ(all, 300u);
}

TEST_F(Wants, BytesOfNoListEndTheLink) {
  bring(99, 0, 10);
  EXPECT_EQ(carrier_->status().code(), Code::corrupt);
}

TEST_F(Wants, BytesOutOfOrderEndTheLink) {
  bring(request, 10, 10);
  EXPECT_EQ(carrier_->status().code(), Code::corrupt);
}

TEST_F(Wants, MoreBytesThanTheListHasEndTheLink) {
  bring(other, 0, 51);
  EXPECT_EQ(carrier_->status().code(), Code::corrupt);
}

TEST_F(Wants, BytesAfterTheAnswerEndTheLink) {
  server_->link().put_reply(0, other, {});
  server_->link().flush();
  pump();
  bring(other, 0, 50);
  EXPECT_EQ(carrier_->status().code(), Code::corrupt);
}

TEST_F(Wants, BytesThatDoNotMatchTheirChecksumEndTheLink) {
  bring(request, 0, 100, 1);
  EXPECT_EQ(carrier_->status().code(), Code::corrupt);
}

}  // namespace
}  // namespace millrace::agent
