// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/server/reception.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

#include "agent/core/testing/core_rig.hpp"
#include "io/virtual/virtual_net.hpp"
#include "transport/ring.hpp"
#include "transport/socket.hpp"

namespace millrace::agent {
namespace {

constexpr std::uint64_t ring_bytes = 64 * KiB;
constexpr std::uint64_t tag_listener = 0, tag_first_rank = 16;

// Takes all descriptors of this process but `free` of them.
class FewDescriptors {
 public:
  explicit FewDescriptors(std::size_t free) {
    ::getrlimit(RLIMIT_NOFILE, &usual_);
    const rlimit low{256, usual_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &low);
    for (Fd one(::dup(0)); one.valid(); one.reset(::dup(0))) taken_.push_back(std::move(one));
    taken_.resize(taken_.size() - free);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &usual_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit usual_{};
  std::vector<Fd> taken_;
};

// The agent's side is this process too. The test turns its loop.
class ReceptionTest : public testing::Test {
 protected:
  // A process that has connected, and has greeted or not.
  struct Caller {
    Fd socket;
    transport::Producer producer;
    transport::Welcome welcome{};
    bool heard() { return transport::receive_message(socket.get(), &welcome, sizeof welcome)->size > 0; }
  };

  ReceptionTest() {
    EXPECT_TRUE(epoll_.open().ok());
    Result<Fd> listener = transport::listen_at(name_);
    reception_.emplace(rounds_, links_, epoll_, *std::move(listener), tag_listener, tag_first_rank,
                       Reception::GivenFds{shown_.get(), shown_.get()}, [](const std::string&) {});
    reception_->accept_all();  // takes the spare descriptor
  }
  Caller call(bool greets = true) {
    Caller caller{*transport::connect_to(name_), *transport::Producer::create(ring_bytes), {}};
    transport::Hello hello{transport::protocol_version, 1, 0, ring_bytes, {}, {}};
    if (!greets) return caller;
    EXPECT_TRUE(transport::send(caller.socket.get(), hello, {caller.producer.memory()}).ok());
    return caller;
  }
  // The loop of Server, until nothing comes for a while; bounded.
  void turn() {
    for (int rounds = 0, idle = 0; rounds < 100 && idle < 3; ++rounds) {
      reception_->watch_door();
      epoll_event events[8];
      const int count = epoll_.wait(events, 30);
      idle = count == 0 ? idle + 1 : 0;
      for (int i = 0; i < count; ++i) {
        const std::uint64_t tag = events[i].data.u64;
        if (tag == tag_listener) reception_->accept_all();
        if (tag != tag_listener) reception_->receive(static_cast<SenderId>(tag - tag_first_rank));
      }
    }
  }

  const std::string name_ = "millrace-reception-test-" + std::to_string(::getpid());
  io::Timeline timeline_{1};
  io::Trace trace_;
  io::VirtualNet net_{timeline_, trace_, 1, {}};
  io::MemoryStorage storage_;
  Links links_{net_.of(0), timeline_, [](int, std::uint32_t, std::uint64_t) {}, [](const std::string&) {},
               1u << 20,   {}};
  std::unique_ptr<transport::AgentPage> page_ = std::make_unique<transport::AgentPage>();
  Core core_{storage_, "/tmp"};
  Rounds rounds_{
      core_,
      links_,
      *page_,
      timeline_,
      {[] { return 1000; }, [](const std::string&) {}, [](const std::string&) {}, [] { return 0; }},
      250'000'000};
  Epoll epoll_;
  const Fd shown_{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  std::optional<Reception> reception_;
};

TEST_F(ReceptionTest, AProcessIsServed) {
  Caller caller = call();
  turn();
  ASSERT_TRUE(caller.heard());
  EXPECT_TRUE(caller.welcome.status.ok());
  EXPECT_EQ(rounds_.ranks(), 1u);
  EXPECT_EQ(page_->progress.load(), 0u);
}

TEST_F(ReceptionTest, AProcessForWhichNoDescriptorIsLeftHearsItAndSeesProgress) {
  for (const std::size_t free : {0, 1}) {
    std::vector<Caller> callers;
    for (int i = 0; i < 5; ++i) callers.push_back(call());
    const std::uint64_t before = page_->progress.load();
    {
      const FewDescriptors few(free);
      turn();
    }
    for (Caller& caller : callers) {
      ASSERT_TRUE(caller.heard()) << free;
      EXPECT_EQ(caller.welcome.status, Status(Code::no_memory)) << "without an errno: it is not the caller's";
    }
    EXPECT_EQ(rounds_.ranks(), 0u);
    EXPECT_GE(page_->progress.load(), before + callers.size());
  }
  Caller later = call();
  turn();
  ASSERT_TRUE(later.heard());
  EXPECT_TRUE(later.welcome.status.ok());
}

TEST_F(ReceptionTest, OtherProcessesSeeProgressWhileASilentOneHasTheSpareDescriptor) {
  const Caller silent = call(false), other = call();
  const FewDescriptors few(0);
  reception_->accept_all();
  EXPECT_EQ(rounds_.ranks(), 1u);
  const std::uint64_t before = page_->progress.load();
  turn();
  EXPECT_GT(page_->progress.load(), before);
}

TEST_F(ReceptionTest, AProcessTooManyHearsItAndSeesProgress) {
  while (rounds_.ranks() < 4096) rounds_.join(Fd());
  Caller caller = call();
  turn();
  ASSERT_TRUE(caller.heard());
  EXPECT_EQ(caller.welcome.status, Status(Code::no_memory));
  EXPECT_EQ(rounds_.ranks(), 4096u);
  EXPECT_GT(page_->progress.load(), 0u);
}

}  // namespace
}  // namespace millrace::agent
