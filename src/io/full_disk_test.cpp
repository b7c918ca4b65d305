// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "io/factory.hpp"

namespace millrace::io {
namespace {

// A small ext4 file system in a file, mounted. The destructor removes it.
class SmallDisk {
 public:
  explicit SmallDisk(int mebibytes) {
    std::string name = testing::TempDir() + "millrace-disk-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) {
      why_ = "no temporary folder";
      return;
    }
    folder_ = name;
    mount_ = folder_ + "/mnt";
    const std::string image = folder_ + "/image";
    if (geteuid() != 0) {
      why_ = "mounting needs root";
      return;
    }
    const std::string make = "truncate -s " + std::to_string(mebibytes) + "M " + image +
                             " && mkfs.ext4 -q -F " + image + " && mkdir " + mount_ + " && mount -o loop " +
                             image + " " + mount_ + " 2>/dev/null";
    mounted_ = std::system(make.c_str()) == 0;
    if (!mounted_) why_ = "a loop device or mount is not allowed here";
  }
  ~SmallDisk() {
    if (mounted_ && umount2(mount_.c_str(), 0) != 0) umount2(mount_.c_str(), MNT_DETACH);
    if (folder_.empty()) return;
    unlink((folder_ + "/image").c_str());
    rmdir(mount_.c_str());
    rmdir(folder_.c_str());
  }
  bool mounted() const { return mounted_; }
  const std::string& path() const { return mount_; }
  const std::string& why() const { return why_; }

 private:
  std::string folder_;
  std::string mount_;
  std::string why_;
  bool mounted_ = false;
};

class FullDisk : public testing::TestWithParam<SinkMode> {};

TEST_P(FullDisk, ReportsNoSpaceOnceItIsFullAndWorksAgainAfterwards) {
  const SmallDisk disk(8);
  if (!disk.mounted()) GTEST_SKIP() << disk.why();
  Result<Chosen> chosen = make_storage(GetParam());
  ASSERT_TRUE(chosen.ok());
  Storage& storage = *chosen->storage;
  Fd fd(open((disk.path() + "/file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(fd.valid());
  const Result<Handle> file = storage.adopt(std::move(fd), GetParam() == SinkMode::direct);
  ASSERT_TRUE(file.ok());
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(4096, MiB));
  std::fill_n(memory, MiB, std::byte{7});
  const auto one = [&](Op op, std::uint64_t offset, std::uint64_t bytes) {
    Request request;
    request.op = op;
    request.file = *file;
    request.offset = offset;
    if (bytes > 0) request.data = {{memory, bytes}};
    storage.submit(std::move(request));
    storage.kick();
    std::vector<Completion> done;
    for (int waits = 0; done.empty() && waits < 60; ++waits) {
      pollfd event = {storage.event_fd(), POLLIN, 0};
      ::poll(&event, 1, 1000);
      storage.poll(done);
    }
    return done.size() == 1 ? done[0].status : Status(Code::timeout);
  };
  Status status;
  std::uint64_t offset = 0;
  for (; status.ok() && offset < 16 * MiB; offset += MiB) status = one(Op::write, offset, MiB);
  EXPECT_EQ(status.code(), Code::no_space) << status.describe();
  EXPECT_TRUE(one(Op::write, 0, 64 * KiB).ok()) << "rewriting needs no space";
  EXPECT_TRUE(one(Op::datasync, 0, 0).ok());
  storage.release(*file);
  std::free(memory);
}

INSTANTIATE_TEST_SUITE_P(Modes, FullDisk, testing::Values(SinkMode::buffered, SinkMode::direct));

}  // namespace
}  // namespace millrace::io
