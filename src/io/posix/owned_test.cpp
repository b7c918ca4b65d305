// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/owned.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>

#include "io/posix/testing/refused_call.hpp"

namespace millrace::io {
namespace {

namespace fs = std::filesystem;

class OwnedFiles : public testing::Test {
 protected:
  OwnedFiles() { fs::create_directory(root); }
  ~OwnedFiles() override { fs::remove_all(root); }

  // Runs `check` in a process in which the call fails.
  static void where(unsigned call, int error, const std::function<bool()>& check) {
    EXPECT_EXIT(
        {
          refuse_call(call, error);
          std::_Exit(check() ? 0 : 1);
        },
        testing::ExitedWithCode(0), "")
        << error;
  }

  std::string root = testing::TempDir() + "millrace-owned-" +
                     testing::UnitTest::GetInstance()->current_test_info()->name() +
                     std::to_string(::getpid());
};

TEST_F(OwnedFiles, NoFileIsMadeWhereTheFileSystemHasNoLocks) {
  for (const int error : {ENOLCK, ENOSYS, EOPNOTSUPP})
    where(SYS_flock, error, [&] {
      const Result<Owned> made = create_owned(root, ".journal");
      return !made && made.status() == Status(Code::unsupported, error) && list_owned(root, "")->empty() &&
             describe_unusable(root, made.status()).find("no file locks") != std::string::npos;
    });
}

TEST_F(OwnedFiles, AFileCountsAsThatOfALivingProcessIfTheFileSystemDoesNotTell) {
  const Owned made = *create_owned(root, ".journal");
  const Fd again = *open_owned(made.path);
  EXPECT_EQ(try_lock(again).code(), Code::timeout);
  where(SYS_flock, ENOLCK, [&] {
    return is_locked(again) && *is_folder_locked(root) && try_lock(again).code() == Code::unsupported &&
           lock_folder(root).status().code() == Code::unsupported;
  });
}

TEST_F(OwnedFiles, ARemovalThatMayNotOutliveACrashIsAnError) {
  for (const int error : {EIO, ENOSPC, EINVAL}) {
    const Owned made = *create_owned(root, ".journal");
    where(SYS_fsync, error, [&] {
      const Status removed = remove_durably(made.path);
      return error == EINVAL ? removed.ok() : removed.error() == error;
    });
    EXPECT_FALSE(fs::exists(owned_folder(root)));
  }
}

}  // namespace
}  // namespace millrace::io
