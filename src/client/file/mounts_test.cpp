// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/file/mounts.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/file_system.hpp"

namespace millrace::client {
namespace {

TEST(Mounts, AFileSystemHasATypeAndASourceBeforeAndAfterItsFileIsMade) {
  char name[] = "/tmp/millrace-mounts-XXXXXX";
  const std::string file = std::string(::mkdtemp(name)) + "/new";
  const std::string before = file_system_of(file);
  EXPECT_NE(before.find(' '), std::string::npos) << before;
  std::ofstream(file) << "a line";
  EXPECT_EQ(file_system_of(file), before);
  ::unlink(file.c_str());
  ::rmdir(name);
  EXPECT_EQ(file_system_of("/proc/self"), "proc proc");
  EXPECT_EQ(file_system_of("/no/such/folder/file"), "");
}

// The kernel's own answer is the oracle.
TEST(Mounts, ATypeIsLocalByItsNameAsByItsNumber) {
  for (const char* path : {"/", "/tmp", "/proc/self/status", "/dev/null", "/sys", "/dev/shm"}) {
    TargetFile target;
    ASSERT_TRUE(target.remember(path)) << path;
    EXPECT_EQ(is_remote(target), !is_local_type(type_of_file_system(path))) << path << file_system_of(path);
    EXPECT_EQ(is_local(target.held().get()), !is_remote(target)) << path << file_system_of(path);
  }
}

TEST(Mounts, NetworkFileSystemsAreNotLocal) {
  for (const char* name : {"nfs4", "lustre", "fuse.glusterfs", "fuse", "ceph", "gpfs", "", "ext"})
    EXPECT_FALSE(is_local_type(std::string_view(name))) << name;
  EXPECT_TRUE(is_local_type(std::string_view("tmpfs")));
}

TEST(Mounts, FuseServersAreKnownByTheirTypesName) {
  for (const char* name : {"fuse", "fuse.glusterfs", "fuse.sshfs", "fuseblk", "virtiofs"})
    EXPECT_TRUE(is_fuse_type(name)) << name;
  for (const char* name : {"nfs4", "ext4", "lustre", ""}) EXPECT_FALSE(is_fuse_type(name)) << name;
}

}  // namespace
}  // namespace millrace::client
