// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/presence.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "io/posix/owned.hpp"
#include "transport/socket.hpp"

namespace millrace::transport {
namespace {

namespace fs = std::filesystem;

class PresenceOfAgents : public ::testing::Test {
 protected:
  PresenceOfAgents() {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    name_ = "millrace-test-" + std::to_string(::getpid());
  }
  ~PresenceOfAgents() override {
    if (child_ > 0) ::kill(child_, SIGKILL), ::waitpid(child_, nullptr, 0);
    fs::remove_all(folder_);
  }

  // A process that listens and shows itself as an agent does, until it is ended.
  void start() {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    child_ = ::fork();
    if (child_ == 0) {
      const Result<Fd> listener = listen_at(name_);
      const Result<Fd> page = make_memory("millrace-agent", sizeof(AgentPage));
      const Result<Presence> shown = Presence::announce(folder_, name_, page->get());
      const char said = listener && page && shown ? 'y' : 'n';
      if (::write(ready[1], &said, 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    char said = 0;
    ASSERT_EQ(::read(ready[0], &said, 1), 1);
    ASSERT_EQ(said, 'y');
    ::close(ready[0]);
    ::close(ready[1]);
  }
  // Others show themselves in memory meanwhile.
  std::vector<std::string> shown() const {
    std::vector<std::string> all = presences_in(folder_);
    std::erase_if(all, [this](const std::string& path) { return !path.starts_with(folder_); });
    return all;
  }

  std::string folder_ = (fs::temp_directory_path() / "millrace-presence-XXXXXX").string();
  std::string name_;
  pid_t child_ = -1;
};

TEST_F(PresenceOfAgents, ShowsTheProcessTheSocketAndThePage) {
  start();
  ASSERT_EQ(shown().size(), 1u);
  const Result<Neighbour> found = Neighbour::look_at(shown().front());
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->process(), child_);
  EXPECT_EQ(found->name(), name_);
  EXPECT_NE(found->page(), nullptr);
  EXPECT_TRUE(found->lives());
  EXPECT_FALSE(found->bury());
}

TEST_F(PresenceOfAgents, IsRemovedWithItsAgent) {
  {
    const Result<Presence> own = Presence::announce(folder_, name_, 0);
    ASSERT_TRUE(own.ok());
    EXPECT_EQ(shown().size(), 1u);
  }
  EXPECT_TRUE(shown().empty());
  EXPECT_FALSE(fs::exists(io::owned_folder(folder_)));
}

TEST_F(PresenceOfAgents, IsSeenByJobsWithAnotherFolderOfJournals) {
  const auto seen = [this] {
    std::size_t count = 0;
    for (const std::string& path : presences_on_node("/nowhere")) {
      const Result<Neighbour> found = Neighbour::look_at(path);
      count += found && found->name() == name_ ? 1 : 0;
    }
    return count;
  };
  start();
  EXPECT_EQ(seen(), 1u);
  EXPECT_EQ(shown().size(), 1u) << "one of the two, for those with the same folder";
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
  child_ = -1;
  EXPECT_EQ(seen(), 0u);
}

TEST_F(PresenceOfAgents, OfADeadAgentIsRemovedByTheNextLook) {
  start();
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
  child_ = -1;
  ASSERT_EQ(shown().size(), 1u);
  EXPECT_EQ(Neighbour::look_at(shown().front()).status().code(), Code::not_found);
  EXPECT_TRUE(shown().empty());
}

TEST_F(PresenceOfAgents, AStoppedAgentIsEnded) {
  start();
  ::kill(child_, SIGSTOP);
  const Result<Neighbour> found = Neighbour::look_at(shown().front());
  ASSERT_TRUE(found.ok());
  // The process that ends is a child of this one, and holds its locks until its end.
  EXPECT_TRUE(found->end(10'000));
  EXPECT_FALSE(found->lives());
  EXPECT_TRUE(found->bury());
  EXPECT_FALSE(found->bury());
}

TEST_F(PresenceOfAgents, AProcessThatDoesNotListenAtTheNameIsNotEnded) {
  const Result<Presence> own = Presence::announce(folder_, name_, 0);
  ASSERT_TRUE(own.ok());
  const Result<Neighbour> found = Neighbour::look_at(shown().front());
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->page(), nullptr);
  EXPECT_FALSE(found->end(100));
}

}  // namespace
}  // namespace millrace::transport
