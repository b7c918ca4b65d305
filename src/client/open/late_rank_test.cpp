// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Tests a rank that registers the file of several nodes late, at its first need. Another rank of the node has
// registered the file at open. The node's agent is the only file server.
#include <gtest/gtest.h>

#include <string>

#include "client/open/testing/ranks.hpp"

namespace millrace::client {
namespace {

using testing::contents;
using testing::create;
using testing::Job;
using testing::Step;
using testing::write_range;

std::unique_ptr<File> open_routed(const std::string& path, bool late) {
  OpenRequest request = testing::routed_request(path, 7);
  if (request.routing.lanes == 0) return nullptr;
  request.members = 2;
  request.late = late;
  return open(std::move(request));
}

class LateRank : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Job::real_agent()) GTEST_SKIP() << "needs the real agent";
    create(path_);
  }

  Job job_{"late"};
  const std::string path_ = job_.path("data");
  const Step written_, over_;
};

TEST_F(LateRank, AsksAsAGuestUntilItWritesThroughThePipeline) {
  const pid_t first = job_.start([&] {
    auto file = open_routed(path_, false);
    RANK_CHECK(file != nullptr && file->registered());
    RANK_CHECK(write_range(*file, 1, 0, 1000, 100) == 0);
    written_.reach();
    RANK_CHECK(over_.await() && file->close().ok());
    return 0;
  });
  const pid_t late = job_.start([&] {
    auto file = open_routed(path_, true);
    RANK_CHECK(file != nullptr && !file->registered());
    RANK_CHECK(written_.await() && file->flush(Before::others_write).ok() &&
               file->flush(Before::read, {0, 1000}).ok());
    RANK_CHECK(contents(path_).size() == 1000 && !file->registered() && !file->counts().used_pipeline());
    RANK_CHECK(write_range(*file, 1, 1000, 2000, 100) == 0);
    RANK_CHECK(file->registered() && file->counts().used_pipeline() && file->close().ok());
    over_.reach();
    return 0;
  });
  EXPECT_EQ(job_.wait(late), 0);
  EXPECT_EQ(job_.wait(first), 0);
  EXPECT_EQ(contents(path_), testing::pattern(1, 0, 2000));
}

TEST_F(LateRank, SyncsAsAMemberOnlyWhileBytesOfItsNodeArePending) {
  const Step synced;
  const pid_t first = job_.start([&] {
    auto file = open_routed(path_, false);
    RANK_CHECK(file != nullptr && synced.await() && write_range(*file, 1, 0, 1000, 100) == 0);
    written_.reach();
    RANK_CHECK(over_.await() && file->close().ok());
    return 0;
  });
  const pid_t late = job_.start([&] {
    auto file = open_routed(path_, true);
    RANK_CHECK(file != nullptr && file->sync().ok() && !file->registered());
    synced.reach();
    RANK_CHECK(written_.await() && file->sync().ok() && file->registered());
    RANK_CHECK(contents(path_).size() == 1000 && file->close().ok());
    over_.reach();
    return 0;
  });
  EXPECT_EQ(job_.wait(late), 0);
  EXPECT_EQ(job_.wait(first), 0);
}

// The agent may have ended the file by then.
TEST_F(LateRank, DoesNotRegisterAtClose) {
  const pid_t first = job_.start([&] {
    auto file = open_routed(path_, false);
    RANK_CHECK(file != nullptr && write_range(*file, 1, 0, 1000, 100) == 0);
    written_.reach();
    RANK_CHECK(over_.await() && file->close().ok());
    return 0;
  });
  const pid_t late = job_.start([&] {
    auto file = open_routed(path_, true);
    RANK_CHECK(file != nullptr && written_.await() && file->close().ok());
    RANK_CHECK(!file->registered());
    over_.reach();
    return 0;
  });
  EXPECT_EQ(job_.wait(late), 0);
  EXPECT_EQ(job_.wait(first), 0);
  EXPECT_EQ(contents(path_), testing::pattern(1, 0, 1000));
}

}  // namespace
}  // namespace millrace::client
