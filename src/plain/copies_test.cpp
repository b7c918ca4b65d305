// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "plain/copies.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace millrace::plain {
namespace {

constexpr Calls calls{.status_flags = [](int fd) { return ::fcntl(fd, F_GETFL); },
                      .about = [](int fd, struct stat* about) { return ::fstat(fd, about); },
                      .about_now = [](int fd, struct stat* about) { return ::fstat(fd, about); },
                      .open_again =
                          [](int fd, int flags) {
                            const std::string link = "/proc/self/fd/" + std::to_string(fd);
                            return ::open(link.c_str(), O_RDONLY | O_CLOEXEC | flags);
                          },
                      .replace =
                          [](int fd, int by) {
                            const int flags = ::fcntl(fd, F_GETFD);
                            return ::dup3(by, fd, (flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
                          },
                      .close = [](int fd) { return ::close(fd); }};

struct stat about(int fd) {
  struct stat found {};
  EXPECT_EQ(::fstat(fd, &found), 0);
  return found;
}

// The file has the text "the file", and its copy "the copy", so that reads tell which one they got.
class CopiesTest : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/copies-XXXXXX";
    folder_ = ::mkdtemp(folder);
    path_ = folder_ + "/file";
    write(path_, "the file");
    write(folder_ + "/copy", "the copy");
    copy_ = ::open((folder_ + "/copy").c_str(), O_RDONLY | O_CLOEXEC);
    const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    original_ = about(fd);
    ::close(fd);
    ASSERT_TRUE(copies_.add(original_, copy_));
    ::usleep(20'000);  // longer than a time step of the file system
  }
  void TearDown() override {
    ::close(copy_);
    ASSERT_EQ(std::system(("rm -r " + folder_).c_str()), 0);
  }

  static void write(const std::string& path, const std::string& text) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::close(fd);
  }

  int opened(int flags = O_RDONLY) {
    const int fd = ::open(path_.c_str(), flags);
    EXPECT_GE(fd, 0);
    errno = EDOM;
    copies_.exchange(fd);
    EXPECT_EQ(errno, EDOM);
    return fd;
  }

  std::string read(int flags = O_RDONLY) {
    const int fd = opened(flags);
    char text[64];
    const ssize_t got = ::read(fd, text, sizeof text);
    ::close(fd);
    return {text, static_cast<std::size_t>(got)};
  }

  Copies copies_{calls};
  std::string folder_, path_;
  struct stat original_ {};
  int copy_ = -1;
};

TEST_F(CopiesTest, AnOpenGetsTheCopy) {
  EXPECT_TRUE(copies_.any());
  EXPECT_EQ(read(), "the copy");
  EXPECT_EQ(read(O_RDONLY | O_CLOEXEC | O_NONBLOCK), "the copy");
}

TEST_F(CopiesTest, EachDescriptorKeepsItsFlagsAndHasItsOwnOffset) {
  const int first = opened(), second = opened(O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  EXPECT_EQ(::lseek(first, 4, SEEK_SET), 4);
  EXPECT_EQ(::lseek(second, 0, SEEK_CUR), 0);
  EXPECT_EQ(::fcntl(first, F_GETFD), 0);
  EXPECT_EQ(::fcntl(second, F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::fcntl(first, F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(::fcntl(second, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
  ::close(first);
  ::close(second);
}

TEST_F(CopiesTest, AFileThatHasChangedIsReadItself) {
  write(path_, "The File");
  EXPECT_EQ(read(), "The File");
  const timespec times[] = {original_.st_atim, original_.st_mtim};
  EXPECT_EQ(::utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  EXPECT_EQ(read(), "The File") << "the time of the last status change tells";
}

TEST_F(CopiesTest, ANewFileOfTheNameIsReadItself) {
  write(folder_ + "/new", "a new one");
  EXPECT_EQ(::rename((folder_ + "/new").c_str(), path_.c_str()), 0);
  EXPECT_EQ(read(), "a new one");
}

TEST_F(CopiesTest, OtherPermissionsEndTheUseOfTheCopy) {
  EXPECT_EQ(::chmod(path_.c_str(), 0600), 0);
  EXPECT_EQ(read(), "the file");
}

TEST_F(CopiesTest, FlagsThatDemandSomethingOfTheFileKeepIt) {
  for (const int flags : {O_RDWR, O_RDONLY | O_APPEND, O_RDONLY | O_SYNC}) EXPECT_EQ(read(flags), "the file");
  const int fd = opened(O_PATH);
  EXPECT_EQ(about(fd).st_ino, original_.st_ino);
  ::close(fd);
}

TEST_F(CopiesTest, ACopyWhoseDescriptorMeansAnotherFileIsNotUsed) {
  ::close(copy_);
  EXPECT_EQ(read(), "the file");
  write(folder_ + "/other", "another1");
  const int other = ::open((folder_ + "/other").c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(::dup3(other, copy_, O_CLOEXEC), copy_ == other ? -1 : copy_);
  EXPECT_EQ(read(), "the file");
  if (other != copy_) ::close(other);
}

TEST_F(CopiesTest, NoOpenGetsACopyAfterTheEnd) {
  copies_.forget();
  EXPECT_FALSE(copies_.any());
  EXPECT_EQ(read(), "the file");
  EXPECT_FALSE(copies_.add(original_, copy_));
}

TEST_F(CopiesTest, ALockOnTheFileEndsTheUseOfItsCopy) {
  const int fd = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  copies_.leave(fd);
  ::close(fd);
  EXPECT_EQ(read(), "the file");
}

TEST_F(CopiesTest, ALockOnTheCopyEndsItsUse) {
  const int fd = opened();
  copies_.leave(fd);
  ::close(fd);
  EXPECT_EQ(read(), "the file");
}

TEST_F(CopiesTest, ACopyIsDescribedAsTheFile) {
  const int fd = opened();
  struct stat seen = about(fd);
  EXPECT_NE(seen.st_ino, original_.st_ino);
  copies_.disguise(&seen);
  EXPECT_EQ(seen.st_ino, original_.st_ino);
  EXPECT_EQ(seen.st_mtim.tv_nsec, original_.st_mtim.tv_nsec);
  ::close(copy_);  // its number may now come again on another file
  seen = about(fd);
  const auto number = seen.st_ino;
  copies_.disguise(&seen);
  EXPECT_EQ(seen.st_ino, number);
  ::close(fd);
}

TEST_F(CopiesTest, OtherFilesAreDescribedAsTheyAre) {
  struct stat seen = original_;
  copies_.disguise(&seen);
  EXPECT_EQ(seen.st_ino, original_.st_ino);
}

TEST_F(CopiesTest, ACopyOfAnotherSizeIsRefused) {
  struct stat longer = original_;
  ++longer.st_size;
  EXPECT_FALSE(copies_.add(longer, copy_));
  EXPECT_FALSE(copies_.add(original_, -1));
}

TEST_F(CopiesTest, TheNumberOfCopiesIsBounded) {
  struct stat other = original_;
  for (unsigned i = 1; i < Copies::most; ++i) {
    ++other.st_ino;
    EXPECT_TRUE(copies_.add(other, copy_));
  }
  ++other.st_ino;
  EXPECT_FALSE(copies_.add(other, copy_));
  EXPECT_EQ(read(), "the copy");
}

}  // namespace
}  // namespace millrace::plain
