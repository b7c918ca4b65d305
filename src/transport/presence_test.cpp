// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/presence.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include "transport/socket.hpp"

namespace millrace::transport {
namespace {

class PresenceOfAgents : public ::testing::Test {
 protected:
  PresenceOfAgents() : name_("millrace-test-" + std::to_string(::getpid())) {}
  ~PresenceOfAgents() override { end(); }

  // A process that listens and shows itself as an agent does, until it is ended.
  void start() {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    child_ = ::fork();
    if (child_ == 0) {
      const Result<Fd> listener = listen_at(name_);
      const Result<Presence> shown = Presence::create(name_, "/of/journals");
      if (shown) shown->page().slots.store(7);
      const char said = listener && shown ? 'y' : 'n';
      if (::write(ready[1], &said, 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    char said = 0;
    ASSERT_EQ(::read(ready[0], &said, 1), 1);
    ASSERT_EQ(said, 'y');
    ::close(ready[0]);
    ::close(ready[1]);
  }
  void end() {
    if (child_ > 0) ::kill(child_, SIGKILL), ::waitpid(child_, nullptr, 0);
    child_ = -1;
  }
  // The paths of this test's agents. Others of the user show themselves meanwhile.
  std::vector<std::string> shown() const {
    std::vector<std::string> all = *presences();
    std::erase_if(all, [this](const std::string& path) {
      const std::string name = path.substr(path.rfind('/') + 1);
      return !name.starts_with(std::to_string(::getpid()) + "-") &&
             !name.starts_with(std::to_string(shown_by_) + "-");
    });
    return all;
  }
  Result<Neighbour> look() {
    shown_by_ = child_;
    const std::vector<std::string> paths = shown();
    return paths.size() == 1 ? Neighbour::look_at(paths.front()) : Result<Neighbour>(Code::invalid);
  }

  const std::string name_;
  pid_t child_ = -1, shown_by_ = -1;
};

TEST_F(PresenceOfAgents, ShowsTheProcessTheSocketAndThePage) {
  start();
  const Result<Neighbour> found = look();
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->process(), child_);
  EXPECT_EQ(found->name(), name_);
  EXPECT_NE(found->number(), 0u);
  EXPECT_EQ(found->page().slots.load(), 7u);
  EXPECT_TRUE(found->has_journals_in("/of//journals/"));
  EXPECT_FALSE(found->has_journals_in("/of"));
  EXPECT_TRUE(found->lives());
  EXPECT_FALSE(found->bury());
}

TEST_F(PresenceOfAgents, IsRemovedWithItsAgent) {
  {
    const Result<Presence> own = Presence::create(name_, "/of/journals");
    ASSERT_TRUE(own.ok());
    EXPECT_EQ(shown().size(), 1u);
  }
  EXPECT_TRUE(shown().empty());
}

TEST_F(PresenceOfAgents, AShareOfThePageDoesNotHoldTheLock) {
  Fd shared;
  std::string path;
  {
    const Result<Presence> own = Presence::create(name_, "/of/journals");
    ASSERT_TRUE(own.ok());
    shared.reset(::dup(own->shared()));
    path = shown().front();
    EXPECT_TRUE(is_page(shared));
    EXPECT_TRUE(Neighbour::look_at(path).ok());
    ASSERT_EQ(::link(path.c_str(), (path + "-kept").c_str()), 0);
  }
  ASSERT_EQ(::rename((path + "-kept").c_str(), path.c_str()), 0);
  EXPECT_EQ(Neighbour::look_at(path).status().code(), Code::not_found)
      << "a rank has it still, the agent not";
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST_F(PresenceOfAgents, OfADeadAgentIsRemovedByTheNextLook) {
  start();
  shown_by_ = child_;
  end();
  ASSERT_EQ(shown().size(), 1u);
  EXPECT_EQ(Neighbour::look_at(shown().front()).status().code(), Code::not_found);
  EXPECT_TRUE(shown().empty());
}

TEST_F(PresenceOfAgents, AStoppedAgentIsEnded) {
  start();
  ::kill(child_, SIGSTOP);
  const Result<Neighbour> found = look();
  ASSERT_TRUE(found.ok());
  // The process that ends is a child of this one, and holds its locks until its end.
  EXPECT_TRUE(found->end(10'000));
  EXPECT_FALSE(found->lives());
  (void)found->bury();  // a process of the user that has looked meanwhile may have done it
  EXPECT_NE(::access(found->path().c_str(), F_OK), 0);
  EXPECT_FALSE(found->bury());
}

TEST_F(PresenceOfAgents, AProcessThatDoesNotListenAtTheNameIsNotEnded) {
  const Result<Presence> own = Presence::create(name_, "/of/journals");
  ASSERT_TRUE(own.ok());
  const Result<Neighbour> found = look();
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->end(100));
}

TEST_F(PresenceOfAgents, AProcessWithoutDescriptorsCannotLook) {
  start();
  shown_by_ = child_;
  const std::string path = shown().front();
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit none{0, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Status listed = presences().status();
  const Status looked = Neighbour::look_at(path).status();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_EQ(listed.error(), EMFILE);
  EXPECT_EQ(looked.error(), EMFILE);
}

TEST_F(PresenceOfAgents, AWatchNoticesThatAgentsComeAndGo) {
  PresenceWatch watch;
  (void)watch.changed();
  start();
  EXPECT_TRUE(watch.changed());
}

}  // namespace
}  // namespace millrace::transport
