// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The options of millrace-recover that write to no target.
#include "agent/recovery/testing/recovery_rig.hpp"

namespace millrace::agent {
namespace {

TEST_F(Recovery, TheListTellsOfEveryJournal) {
  EXPECT_NE(list().out.find("no journals in " + root), std::string::npos);
  journal::Identity other = identity(), unknown = identity(), gone = identity();
  other.target.birth_ns = 1;
  unknown.target = {.device = unknown.target.device, .inode = unknown.target.inode};
  gone.path = root + "/gone";
  gone.target.birth_ns = 2;
  put("a", {{0, "one"}, {5, "two"}});
  put("b", {{0, "one"}}, other);
  put("c", {{0, "one"}}, unknown);
  put("d", {{0, "one"}}, gone);
  const std::string text(5000, 'x');
  put("e", std::as_bytes(std::span(text)));
  pass_over("c");
  const Fd owner = *io::open_owned(place("d"));
  ASSERT_TRUE(io::take_lock(owner));
  const Ran ran = list();
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_EQ(ran.out, place("a") + ": 2 records, 6 bytes for " + target + " (there); dead\n" +  //
                         place("b") + ": 1 records, 3 bytes for " + target + " (now another file); dead\n" +
                         place("c") + ": 1 records, 3 bytes for " + target +
                         " (there, may be another file); dead, passed over\n" +  //
                         place("d") + ": 1 records, 3 bytes for " + root + "/gone (gone); living\n" +
                         place("e") + ": not a Millrace journal; dead\n");
  EXPECT_EQ(content(), std::string(100, '.'));
}

TEST_F(Recovery, WhatIsDiscardedIsGoneAndSaid) {
  put("a", {{0, "one"}});
  put("b", {{0, "two"}});
  Ran ran = discard({place("a")});
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_EQ(ran.out, place("a") + ": discarded: 1 records, 3 bytes for " + target + "\n");
  EXPECT_FALSE(fs::exists(place("a")));
  EXPECT_TRUE(fs::exists(place("b")));
  EXPECT_EQ(content(), std::string(100, '.'));
}

TEST_F(Recovery, OnlyJournalsOfTheDeadInTheFolderAreDiscarded) {
  put("a", {{0, "one"}});
  put("b", {{0, "two"}});
  const Fd owner = *io::open_owned(place("a"));
  ASSERT_TRUE(io::take_lock(owner));
  fs::copy_file(place("b"), root + "/b.journal");
  std::ofstream(folder() + "/notes") << "mine";
  const Ran ran = discard({place("a"), root + "/b.journal", folder() + "/notes", place("none"), place("b")});
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.error.find(place("a") + ": a living agent"), std::string::npos) << ran.error;
  EXPECT_NE(ran.error.find(root + "/b.journal: is not a journal in " + folder()), std::string::npos)
      << ran.error;
  EXPECT_TRUE(fs::exists(place("a")));
  EXPECT_TRUE(fs::exists(root + "/b.journal"));
  EXPECT_TRUE(fs::exists(folder() + "/notes"));
  EXPECT_FALSE(fs::exists(place("b"))) << "the others are looked at all the same";
}

}  // namespace
}  // namespace millrace::agent
