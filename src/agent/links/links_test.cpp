// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/links/links.hpp"

#include <gtest/gtest.h>
#include <sys/epoll.h>

#include <map>
#include <optional>

#include "io/posix/descriptor.hpp"
#include "io/virtual/virtual_disk.hpp"
#include "io/virtual/virtual_net.hpp"
#include "transport/topology.hpp"

namespace millrace::agent {
namespace {

constexpr std::uint64_t first_tag = std::uint64_t{1} << 32;
constexpr std::uint64_t group = 7;

// The links of node 0's agent and the agents that connect to it, in a ring of three nodes, in virtual time.
// The agent is the file server of lane 0, and passes lane 2 on from node 1 to node 2.
class LinksTest : public testing::Test {
 protected:
  // Core's destructor waits in real time for what is with the disk, and this disk's time is virtual.
  ~LinksTest() override { advance(); }
  void advance() {
    for (int i = 0; i < 8; ++i) {
      (void)core_.advance(timeline_.now_ns());
      while (timeline_.step()) continue;
    }
  }

  LinksTest() {
    registration_.group = group;
    registration_.members = 1;
    registration_.routing = transport::routing_of({Topology::ring, 3, MiB}, addresses(), 0);
    const auto slot = core_.open(0, *io::duplicate(file_), registration_, links_.route_of(registration_));
    EXPECT_TRUE(slot);
    links_.serve(registration_, *slot, core_.file_number(*slot));
  }

  std::vector<transport::TcpAddress> addresses() {
    const std::uint16_t port = *links_.listen();
    std::vector<transport::TcpAddress> all;
    for (std::uint32_t node = 0; node < 3; ++node) all.push_back(io::VirtualNet::address_of(node, port));
    all[2].port = there_->port();
    return all;
  }

  std::unique_ptr<transport::LinkIo> agent(std::uint32_t node, std::uint32_t lane = 0,
                                           std::uint64_t its_group = group) {
    auto link = transport::Link::connecting(key(), {its_group, node, 0, lane});
    return std::make_unique<transport::LinkIo>(*net_.of(node).connect(addresses()[0]), std::move(link),
                                               transport::LinkTimes{}, timeline_.now_ns());
  }
  static transport::LinkKey key() { return transport::LinkKey(transport::LinkKey::Bytes{}); }
  static bool hears(transport::LinkIo& io) {
    transport::FrameHeader frame{};
    const std::byte* payload = nullptr;
    const bool any = io.link().next(frame, payload);
    if (any) io.link().consume();
    return any && frame.kind == transport::Kind::reply && frame.request == 0;
  }
  static void ask(transport::LinkIo& io, transport::Kind kind) {
    transport::FrameHeader frame{};
    frame.kind = kind;
    frame.request = 1;
    frame.span = UINT64_MAX;
    io.link().put(frame, {});
    io.link().flush();
  }

  // All agents send and receive until nothing is under way. Node 0 takes no frames out of its links.
  void settle(const std::vector<transport::LinkIo*>& agents) {
    for (int quiet = 0; quiet < 4; ++quiet) {
      for (transport::LinkIo* one : agents) {
        const auto ready = net_.ready(one->socket());
        (void)one->pump(timeline_.now_ns(), ready.readable || ready.broken, ready.writable || ready.broken);
      }
      for (const auto& [tag, descriptor] : std::map(watched_)) {
        const auto ready = net_.ready(descriptor);
        if (ready.readable) links_.handle(tag, EPOLLIN);
        if (ready.writable) links_.handle(tag, EPOLLOUT);
      }
      links_.pump(timeline_.now_ns());
      while (timeline_.step()) quiet = -1;
    }
  }

  io::Timeline timeline_{1};
  io::Trace trace_;
  io::VirtualNet net_{timeline_, trace_, 3, {}};
  io::VirtualDisk disk_{timeline_, trace_, 3, {}};
  Fd file_ = disk_.create();
  std::map<std::uint64_t, int> watched_;  // descriptor by tag
  std::vector<std::string> said_;
  std::unique_ptr<io::Listener> there_ = *net_.of(2).listen();
  transport::Register registration_{};
  Links links_{net_.of(0),
               timeline_,
               [this](int descriptor, std::uint32_t events, std::uint64_t tag) {
                 watched_.insert_or_assign(tag, descriptor);
                 if (events == 0) watched_.erase(tag);
               },
               [this](const std::string& line) { said_.push_back(line); },
               first_tag,
               {}};
  Core core_{disk_.of(0), "/tmp"};
  std::vector<PendingRequest> requests_;
};

TEST_F(LinksTest, TheRequestOfAnAgentThatHasGoneIsNotThatOfTheNextOne) {
  auto gone = agent(1);
  settle({gone.get()});
  (void)links_.drain(core_, requests_);
  ask(*gone, transport::Kind::flush);
  settle({gone.get()});
  gone.reset();
  const auto next = agent(2);
  settle({next.get()});
  ask(*next, transport::Kind::sync);
  settle({next.get()});
  (void)links_.drain(core_, requests_);
  ASSERT_EQ(requests_.size(), 2u);
  EXPECT_NE(requests_[0].sender, requests_[1].sender);
  EXPECT_EQ(links_.take_ended(), std::vector{requests_[0].sender});
  EXPECT_FALSE(links_.has(requests_[0].sender));
  EXPECT_TRUE(links_.has(requests_[1].sender));
}

TEST_F(LinksTest, AMarkThatNoAgentSendsEndsTheLink) {
  const auto sent = [this](const transport::FrameHeader& frame, std::size_t payload) {
    auto from = agent(1);
    from->link().put(frame, std::vector<std::byte>(payload));
    from->link().flush();
    settle({from.get()});
    (void)links_.drain(core_, requests_);
    const bool taken = links_.take_ended().empty();
    from.reset();
    settle({});
    (void)links_.drain(core_, requests_);
    EXPECT_EQ(links_.take_ended().empty(), !taken);
    return taken;
  };
  transport::FrameHeader mark{};
  mark.kind = transport::Kind::mark;
  mark.offset = 5;
  EXPECT_TRUE(sent(mark, 0));
  mark.offset = UINT64_MAX;
  EXPECT_TRUE(sent(mark, 0));
  EXPECT_FALSE(sent(mark, 8)) << "a payload";
  mark.offset = UINT64_MAX / 2 + 1;
  EXPECT_FALSE(sent(mark, 0)) << "no file has that place";
  mark.offset = 5;
  mark.request = 1;
  EXPECT_FALSE(sent(mark, 0)) << "nobody answers it";
  mark.request = 0;
  mark.span = 1;
  EXPECT_FALSE(sent(mark, 0)) << "it has no end";
  EXPECT_TRUE(requests_.empty());
}

TEST_F(LinksTest, NoMarkFollowsAClose) {
  const auto from = agent(1);
  ask(*from, transport::Kind::close);
  transport::FrameHeader mark{};
  mark.kind = transport::Kind::mark;
  from->link().put(mark, {});
  from->link().flush();
  settle({from.get()});
  (void)links_.drain(core_, requests_);
  EXPECT_EQ(links_.take_ended().size(), 1u);
}

TEST_F(LinksTest, NumbersAreUsedAgainOnceTheirEndIsKnown) {
  auto gone = agent(1);
  ask(*gone, transport::Kind::flush);
  settle({gone.get()});
  (void)links_.drain(core_, requests_);
  gone.reset();
  settle({});
  (void)links_.drain(core_, requests_);
  EXPECT_EQ(links_.take_ended().size(), 1u);
  const auto next = agent(2);
  ask(*next, transport::Kind::flush);
  settle({next.get()});
  (void)links_.drain(core_, requests_);
  ASSERT_EQ(requests_.size(), 2u);
  EXPECT_EQ(requests_[0].sender, requests_[1].sender) << "Core wants small numbers";
}

TEST_F(LinksTest, ProgressOfALaneIsToldToThoseWhoWaitForThatLane) {
  const auto same = agent(1, 2), other = agent(1, 0);
  ask(*same, transport::Kind::flush);
  ask(*other, transport::Kind::flush);
  settle({same.get(), other.get()});
  (void)links_.drain(core_, requests_);
  Route route = links_.route_of(registration_);
  route.lanes[2].next->request(transport::Kind::flush, 1, everything);
  settle({});
  transport::LinkIo below(*there_->accept(),
                          transport::Link::accepting([](const auto&) { return std::optional(key()); }), {},
                          timeline_.now_ns());
  settle({&below});
  below.link().put_reply(0, Downstream::no_request, {});
  below.link().flush();
  settle({&below});
  ASSERT_EQ(links_.progress(), 1u);
  links_.show_progress(false);
  settle({same.get(), other.get()});
  EXPECT_TRUE(hears(*same));
  EXPECT_FALSE(hears(*other)) << "or agents of a ring tell each other for ever";
  links_.show_progress(false);
  settle({same.get(), other.get()});
  EXPECT_FALSE(hears(*same)) << "it is not new";
  links_.show_progress(true);
  settle({same.get(), other.get()});
  EXPECT_TRUE(hears(*same));
  EXPECT_TRUE(hears(*other));
}

// Code::timeout would tell the ranks that their own agent makes no progress.
TEST_F(LinksTest, AnAgentThatTakesTheConnectionAndNeverAnswersIsALostPeer) {
  Route route = links_.route_of(registration_);
  route.lanes[2].next->request(transport::Kind::flush, 1, everything);
  settle({});
  EXPECT_TRUE(route.lanes[2].next->status().ok());
  timeline_.after(transport::LinkTimes{}.handshake_ns, [] {});
  settle({});
  settle({});
  EXPECT_EQ(route.lanes[2].next->status().code(), Code::lost_peer);
}

// A group that only reads. Rank 1 of this node reads nothing.
class LinksOfReaders : public LinksTest {
 protected:
  static constexpr std::uint64_t readers = 8;
  LinksOfReaders() {
    registration_.group = readers;
    registration_.reads_only = 1;
    slot_ = *core_.open(1, *io::duplicate(file_), registration_, links_.route_of(registration_));
    links_.serve(registration_, slot_, core_.file_number(slot_));
  }
  void end() {
    core_.close(1, slot_, 1, {});
    advance();
    EXPECT_EQ(core_.file_number(slot_), 0u);
    (void)links_.drain(core_, requests_);
  }
  FileSlot slot_ = 0;
};

TEST_F(LinksOfReaders, NothingIsWrongWithAnAgentThatComesAfterTheLastReader) {
  end();
  const auto late = agent(1, 0, readers);
  settle({late.get()});
  (void)links_.drain(core_, requests_);
  settle({late.get()});
  EXPECT_FALSE(late->status().ok());
  EXPECT_EQ(said_, std::vector<std::string>{});
}

TEST_F(LinksOfReaders, AGroupIsForgottenWhenNoAgentCanBeOnItsWay) {
  end();
  timeline_.after(transport::LinkTimes{}.handshake_ns + 1, [] {});
  settle({});
  (void)links_.drain(core_, requests_);
  const auto stranger = agent(1, 0, readers);
  settle({stranger.get()});
  (void)links_.drain(core_, requests_);
  EXPECT_EQ(said_.size(), 1u);
}

TEST_F(LinksOfReaders, AnAgentEndsItsLinkWhenItsRanksHaveRead) {
  auto from = agent(1, 0, readers);
  settle({from.get()});
  (void)links_.drain(core_, requests_);
  EXPECT_FALSE(links_.idle());
  from.reset();
  settle({});
  (void)links_.drain(core_, requests_);
  EXPECT_TRUE(links_.idle());
  EXPECT_EQ(said_, std::vector<std::string>{});
}

TEST_F(LinksOfReaders, AnAgentMayHangUpBeforeItsProof) {
  auto from = agent(1, 0, readers);
  for (int i = 0; i < 2; ++i) {
    (void)from->pump(timeline_.now_ns(), false, true);
    settle({});
  }
  from.reset();
  settle({});
  (void)links_.drain(core_, requests_);
  EXPECT_EQ(said_, std::vector<std::string>{});
}

}  // namespace
}  // namespace millrace::agent
