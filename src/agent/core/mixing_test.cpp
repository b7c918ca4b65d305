// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Files that ranks of this node have open in groups of this node alone and in groups of several nodes.
#include <gtest/gtest.h>

#include "agent/core/core.hpp"
#include "agent/core/files.hpp"
#include "agent/core/testing/core_rig.hpp"

namespace millrace::agent {
namespace {

class Mixing : public CoreTest {
 protected:
  // `routed`: the ranks of the group are on several nodes.
  Status open(SenderId sender, std::uint64_t group, bool routed) {
    transport::Register registration{};
    registration.group = group;
    registration.members = 1;
    registration.settings = tiny(Strategy::sort, true);
    Route route;
    if (routed) route.lanes.push_back({nullptr, 1});
    const auto slot = rig->core.open(sender, Fd(::dup(file.get())), registration, std::move(route));
    EXPECT_TRUE(!slot || *slot == 0);
    return slot.status();
  }
};

TEST_F(Mixing, a_group_of_several_nodes_does_not_join_ranks_that_have_the_file_by_themselves) {
  start();
  ASSERT_TRUE(open(0, 1, false).ok());
  EXPECT_EQ(open(1, 2, true).code(), Code::refused);
  EXPECT_TRUE(open(1, 3, false).ok());
  rig->core.close(1, 0, 1, {});
  rig->core.close(0, 0, 2, {});
  ASSERT_LT(steps_until(0, 2), 5000);
  settle();
  EXPECT_TRUE(open(1, 4, true).ok()) << "they have left it";
}

TEST_F(Mixing, ranks_of_this_node_join_a_group_of_several_but_do_not_outlive_it_for_the_next) {
  start();
  ASSERT_TRUE(open(0, 1, true).ok());
  EXPECT_TRUE(open(1, 1, true).ok());
  EXPECT_TRUE(open(2, 2, false).ok());
  EXPECT_TRUE(open(1, 3, true).ok()) << "a second open by all";
  rig->core.close(0, 0, 1, {});
  rig->core.close(1, 0, 2, {});
  EXPECT_TRUE(open(3, 4, true).ok()) << "a rank has the second one open";
  rig->core.close(1, 0, 3, {});
  rig->core.close(3, 0, 4, {});
  EXPECT_EQ(open(0, 5, true).code(), Code::refused) << "others' agents have left it";
}

// A file system may tell neither birth times nor handles.
TEST_F(Mixing, files_of_two_file_systems_with_one_inode_number_are_two_files) {
  const FileIdentity known{1, 7};
  for (const auto& [found, joins] : {std::pair(FileIdentity{1, 7}, true), {FileIdentity{2, 7}, false}}) {
    Files files;
    files.add(std::make_unique<OpenFile>());
    files[0].identity = known;
    (void)files.find(found, transport::Register{});
    EXPECT_EQ(files[0].replaced, joins) << "nobody has it open: an open of the same file replaces it";
  }
}

}  // namespace
}  // namespace millrace::agent
