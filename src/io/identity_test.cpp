// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests that a file and a later file with the same inode number have different identities.
#include "io/posix/identity.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace millrace::io {
namespace {

namespace fs = std::filesystem;

constexpr FileIdentity written{1, 2, 30, 40, 50};

TEST(SameFile, OtherNumbersAreAnotherFile) {
  EXPECT_EQ(same_file(written, {1, 9, 30, 40, 50}), Sameness::other);
}

TEST(SameFile, ADeviceNumberIsOnlyAHint) {
  EXPECT_EQ(same_file(written, {9, 2, 30, 40, 50}), Sameness::same);
  EXPECT_EQ(same_file(written, {9, 2, 31, 40, 50}), Sameness::other);
  EXPECT_EQ(same_file(written, {9, 2, 0, 0, 0}), Sameness::unknown);
}

TEST(SameFile, AnythingElseThatDiffersIsAnotherFile) {
  EXPECT_EQ(same_file(written, {1, 2, 31, 40, 50}), Sameness::other);
  EXPECT_EQ(same_file(written, {1, 2, 30, 41, 50}), Sameness::other);
  EXPECT_EQ(same_file(written, {1, 2, 30, 40, unmarked}), Sameness::other);
}

TEST(SameFile, OneThingThatIsToldOfBothIsEnough) {
  EXPECT_EQ(same_file(written, written), Sameness::same);
  EXPECT_EQ(same_file(written, {1, 2, 30}), Sameness::same);
  EXPECT_EQ(same_file({1, 2, 0, 40}, written), Sameness::same);
  EXPECT_EQ(same_file({1, 2, 0, 0, 50}, {1, 2, 0, 0, 50}), Sameness::same);
}

TEST(SameFile, NumbersAloneDoNotTell) {
  EXPECT_EQ(same_file({1, 2}, {1, 2}), Sameness::unknown);
  EXPECT_EQ(same_file({1, 2}, written), Sameness::unknown);
  EXPECT_EQ(same_file(written, {1, 2}), Sameness::unknown);
  EXPECT_EQ(same_file({1, 2, 30}, {1, 2, 0, 40}), Sameness::unknown);
}

class Identity : public ::testing::Test {
 protected:
  Identity()
      : root_(::testing::TempDir() + "millrace-identity-" + std::to_string(::getpid()) + "-" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::create_directory(root_);
  }
  ~Identity() override { fs::remove_all(root_); }

  std::string path(const std::string& name) const { return root_ + "/" + name; }
  Fd make(const std::string& name) const {
    return Fd(::open(path(name).c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
  }

  std::string root_;
};

TEST_F(Identity, IsTheSameByDescriptorByNameAndByLink) {
  const Fd file = make("a");
  const FileIdentity known = *identify(file, false);
  EXPECT_NE(known.inode, 0U);
  EXPECT_EQ(*identify(path("a")), known);
  fs::create_symlink(path("a"), path("link"));
  EXPECT_EQ(*identify(path("link")), known);
  fs::rename(path("a"), path("b"));
  EXPECT_EQ(*identify(path("b")), known);
}

TEST_F(Identity, WritingChangesNothing) {
  const Fd file = make("a");
  const FileIdentity known = *identify(file, true);
  ASSERT_EQ(::write(file.get(), "data", 4), 4);
  ASSERT_EQ(::ftruncate(file.get(), 2), 0);
  EXPECT_EQ(same_file(known, *identify(file, true)), Sameness::same);
}

TEST_F(Identity, ANewFileIsAnotherOneWhateverItsNumber) {
  FileIdentity known = *identify(make("a"), true);
  fs::remove(path("a"));
  FileIdentity found = *identify(make("a"), true);
  // Without handles, only the birth time distinguishes the files. It advances in ticks.
  while (found.handle == 0 && found.birth_ns != 0 && found.birth_ns == known.birth_ns) {
    fs::remove(path("a"));
    found = *identify(make("a"), true);
  }
  EXPECT_EQ(same_file(known, found), Sameness::other);
  if (known.birth_ns == 0 && known.handle == 0) GTEST_SKIP() << "this file system tells numbers only";
  known.inode = found.inode;  // if the system has not used the number again
  EXPECT_EQ(same_file(known, found), Sameness::other);
}

TEST_F(Identity, OfWhatIsNotThereThereIsNone) {
  EXPECT_EQ(identify(path("nothing")).status().code(), Code::not_found);
  EXPECT_FALSE(identify(Fd(), false).ok());
}

TEST_F(Identity, AMarkStaysWithItsFile) {
  const Fd file = make("a"), other = make("b");
  if (mark_of(file) == 0) GTEST_SKIP() << "this file system takes no extended attributes of users";
  EXPECT_EQ(mark_of(file), unmarked);
  const std::uint64_t mark = set_mark(file);
  EXPECT_GT(mark, unmarked);
  EXPECT_EQ(set_mark(file), mark);
  EXPECT_EQ(mark_of(file), mark);
  EXPECT_NE(set_mark(other), mark);
  fs::remove(path("a"));
  EXPECT_EQ(mark_of(make("a")), unmarked);
}

}  // namespace
}  // namespace millrace::io
