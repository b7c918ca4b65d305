// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/stage_inputs.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace millrace::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A folder with files. They are young at first, so the first search of all waits two seconds.
class Inputs : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = ::testing::TempDir() + "millrace-inputs-" + std::to_string(::getpid());
    std::filesystem::create_directories(folder + "/below");
    for (const char* name : {"a.dat", "b.dat", "c.in", "below/d.dat"})
      std::ofstream(folder + "/" + name) << name;
    std::ofstream(folder + "/empty.dat") << "";
    std::filesystem::create_symlink(folder + "/a.dat", folder + "/link");
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder); }

  static std::vector<std::string> names(const FoundInputs& found) {
    std::vector<std::string> all;
    for (const Input& input : found.inputs) all.push_back(input.path.substr(folder.size() + 1));
    return all;
  }

  static inline std::string folder;
};

TEST_F(Inputs, PatternsMatchRegularFilesWithBytes) {
  const FoundInputs found = find_inputs({folder + "/*"}, 64);
  EXPECT_THAT(names(found), ElementsAre("a.dat", "b.dat", "c.in"));
  EXPECT_THAT(found.problems, IsEmpty());
  EXPECT_NE(found.inputs[0].stamp.inode, 0U);
  EXPECT_EQ(found.inputs[0].stamp.size, 5U);
}

TEST_F(Inputs, AFileIsFoundOnce) {
  EXPECT_THAT(names(find_inputs({folder + "/link", folder + "/a*", folder + "/*.dat"}, 64)),
              ElementsAre("link", "b.dat"));
}

TEST_F(Inputs, APatternWithoutAFileIsTold) {
  const FoundInputs found = find_inputs({folder + "/none*", folder + "/empty.dat", folder + "/below"}, 64);
  EXPECT_THAT(found.inputs, IsEmpty());
  EXPECT_THAT(found.problems, ElementsAre(HasSubstr("none*"), HasSubstr("empty.dat"), HasSubstr("below")));
}

TEST_F(Inputs, TheNumberOfFilesIsBounded) {
  const FoundInputs found = find_inputs({folder + "/*.dat", folder + "/c.in"}, 1);
  EXPECT_THAT(names(found), ElementsAre("a.dat"));
  EXPECT_THAT(found.problems, ElementsAre(HasSubstr("more than 1 files")));
}

TEST_F(Inputs, NamesAreAbsolute) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  const FoundInputs found = find_inputs({"below/*"}, 64);
  std::filesystem::current_path(before);
  EXPECT_THAT(names(found), ElementsAre("below/d.dat"));
}

TEST_F(Inputs, AYoungFileIsWaitedFor) {
  std::ofstream(folder + "/young") << "young";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(names(find_inputs({folder + "/young"}, 64)), ElementsAre("young"));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(1900));
  std::filesystem::remove(folder + "/young");
}

TEST_F(Inputs, EachChangeChangesTheStamp) {
  const std::string path = folder + "/changing";
  struct stat about {};
  std::ofstream(path) << "one";
  const FileStamp first = look_at_input(path, about);
  ::usleep(20'000);
  std::ofstream(path) << "two";
  timespec times[] = {about.st_atim, about.st_mtim};
  EXPECT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  const FileStamp second = look_at_input(path, about);
  EXPECT_EQ(first.changed_ns, second.changed_ns);
  EXPECT_NE(first, second);
  std::filesystem::remove(path);
  EXPECT_EQ(look_at_input(path, about), FileStamp());
}

TEST_F(Inputs, ALookDescribesTheFileAsStatDoes) {
  struct stat looked {
  }, told{};
  (void)look_at_input(folder + "/a.dat", looked);
  ASSERT_EQ(::stat((folder + "/a.dat").c_str(), &told), 0);
  looked.st_atim = told.st_atim;
  EXPECT_EQ(std::memcmp(&looked, &told, sizeof told), 0);
}

TEST_F(Inputs, ACopyIsHeldForReadingAtAHighNumber) {
  const Fd copy(::open((folder + "/b.dat").c_str(), O_RDWR | O_CLOEXEC));
  const HeldCopy held(copy);
  ASSERT_TRUE(held.valid());
  EXPECT_GE(held.get(), 500);
  EXPECT_EQ(::fcntl(held.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::fcntl(held.get(), F_GETFL) & O_ACCMODE, O_RDONLY);
}

TEST_F(Inputs, ANumberThatMeansAnotherFileIsNotClosed) {
  const Fd copy(::open((folder + "/b.dat").c_str(), O_RDWR | O_CLOEXEC));
  const Fd other(::open((folder + "/c.in").c_str(), O_RDONLY | O_CLOEXEC));
  int number = -1;
  {
    const HeldCopy held(copy);
    number = held.get();
    ASSERT_EQ(::dup2(other.get(), number), number);
  }
  EXPECT_EQ(::close(number), 0);
}

}  // namespace
}  // namespace millrace::client
