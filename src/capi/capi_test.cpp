// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <thread>

#include "capi/testing/rig.hpp"

namespace millrace::capi::testing {
namespace {

using ::testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(All, EachDevice, ::testing::Values("host", "process", "cuda"),
                         [](const auto& one) { return one.param; });

TEST_P(EachDevice, FilesAreWrittenAndReadFromItsMemory) {
  const Bytes bytes = pattern(9'000'001);
  const Memory memory(device, bytes);
  millrace_file* file = open();
  const auto size = static_cast<std::int64_t>(bytes.size());
  EXPECT_EQ(millrace_write(file, device, memory.at(), bytes.size()), size) << millrace_explain();
  EXPECT_EQ(millrace_sync(file), 0);
  EXPECT_EQ(millrace_size(file), size);
  EXPECT_EQ(contents(), bytes);
  const Memory other(device, Bytes(bytes.size()));
  EXPECT_EQ(millrace_read_at(file, device, other.at(), bytes.size(), 0), size);
  EXPECT_EQ(other.get(), bytes);
  EXPECT_EQ(millrace_read_at(file, device, other.at(), bytes.size(), 9'000'000), 1) << "the end of the file";
  EXPECT_EQ(millrace_read(file, device, other.at(), 10), 0) << "the position is at the end";
  EXPECT_EQ(millrace_seek(file, -10, MILLRACE_END), size - 10);
  EXPECT_EQ(millrace_read(file, device, other.at(), 20), 10);
  EXPECT_EQ(millrace_close(file), 0);
}

TEST_P(EachDevice, RequestsGoOnMeanwhile) {
  const Bytes bytes = pattern(5'000'000);
  const Memory memory(device, bytes);
  millrace_file* file = open();
  millrace_request* request = nullptr;
  ASSERT_EQ(millrace_request_init(&request), 0);
  EXPECT_EQ(millrace_request_query(request), -EINVAL);
  EXPECT_EQ(millrace_request_wait(request, 10), -EINVAL);
  ASSERT_EQ(millrace_request_write(request, file, device, memory.at(), bytes.size(), 3), 0);
  EXPECT_EQ(millrace_request_write(request, file, device, memory.at(), bytes.size(), 3), -EINVAL);
  EXPECT_THAT(millrace_explain(), HasSubstr("wait for it first"));
  EXPECT_EQ(millrace_close(file), -EBUSY);
  while (millrace_request_query(request) == 0) usleep(1000);
  EXPECT_EQ(millrace_request_query(request), 1);
  EXPECT_EQ(millrace_request_wait(request, 0), 5'000'000);
  EXPECT_EQ(millrace_request_wait(request, 0), -EINVAL) << "once";
  const Memory other(device, Bytes(bytes.size()));
  ASSERT_EQ(millrace_request_read(request, file, device, other.at(), bytes.size(), 3), 0);
  EXPECT_EQ(millrace_request_wait(request, -1), 5'000'000);
  EXPECT_EQ(other.get(), bytes);
  EXPECT_EQ(millrace_request_fini(request), 0);
  EXPECT_EQ(millrace_request_fini(request), -EBADF);
  EXPECT_EQ(millrace_close(file), 0);
}

TEST_P(EachDevice, WrongAddressesAreTold) {
  millrace_file* file = open();
  EXPECT_EQ(millrace_write(file, device, reinterpret_cast<void*>(4096), 100), -EFAULT);
  EXPECT_THAT(millrace_explain(), HasSubstr("millrace_write: Bad address: no such memory"));
  Bytes host(100);
  EXPECT_EQ(millrace_read_mem(device, host.data(), reinterpret_cast<void*>(4096), host.size()), -EFAULT);
  EXPECT_EQ(millrace_write_mem(device, reinterpret_cast<void*>(4096), host.data(), host.size()), -EFAULT);
  EXPECT_EQ(millrace_write_mem(device, reinterpret_cast<void*>(4096), nullptr, 1), -EFAULT);
  EXPECT_EQ(millrace_free(device, reinterpret_cast<void*>(4096)), -EINVAL);
  void* address = nullptr;
  EXPECT_EQ(millrace_alloc(device, 0, &address), -EINVAL);
  EXPECT_EQ(contents(), Bytes());
  EXPECT_EQ(millrace_close(file), 0);
}

TEST_P(EachDevice, WhatWasNotFreedGoesWithIt) {
  millrace_device* other = nullptr;
  ASSERT_EQ(millrace_device_open(GetParam().c_str(), &other), 0);
  void* address = nullptr;
  ASSERT_EQ(millrace_alloc(other, 1'000'000, &address), 0);
  const Bytes bytes = pattern(1'000'000);
  EXPECT_EQ(millrace_write_mem(other, address, bytes.data(), bytes.size()), 0);
  EXPECT_EQ(millrace_free(device, address), -EINVAL) << "another handle's";
  EXPECT_EQ(millrace_device_close(other), 0);
  EXPECT_EQ(millrace_device_close(other), -EBADF);
  EXPECT_EQ(millrace_free(other, address), -EBADF);
}

TEST_P(EachDevice, AFullDiskIsTold) {
  const std::string disk = folder + "/disk";
  ASSERT_EQ(mkdir(disk.c_str(), 0700), 0);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=2m") != 0)
    GTEST_SKIP() << "mounting is not allowed here";
  const Bytes bytes = pattern(5'000'000);
  const Memory memory(device, bytes);
  millrace_file* file = nullptr;
  ASSERT_EQ(millrace_open((disk + "/file").c_str(), MILLRACE_WRITE | MILLRACE_CREATE, 0600, &file), 0);
  EXPECT_EQ(millrace_write(file, device, memory.at(), bytes.size()), 2 << 20);
  EXPECT_EQ(millrace_write(file, device, memory.at(), bytes.size()), -ENOSPC);
  EXPECT_THAT(millrace_explain(), HasSubstr("free some space"));
  EXPECT_EQ(millrace_write(file, nullptr, bytes.data(), bytes.size()), -ENOSPC);
  millrace_request* request = nullptr;
  ASSERT_EQ(millrace_request_init(&request), 0);
  ASSERT_EQ(millrace_request_write(request, file, device, memory.at(), bytes.size(), 2 << 20), 0);
  EXPECT_EQ(millrace_request_wait(request, -1), -ENOSPC);
  EXPECT_EQ(millrace_request_fini(request), 0);
  EXPECT_EQ(millrace_close(file), 0);
  EXPECT_EQ(umount2(disk.c_str(), MNT_DETACH), 0);
}

// GCC's thread sanitizer ends a child of a process with threads as soon as the child starts a thread.
#if defined(__SANITIZE_THREAD__)
constexpr bool children_may_start_threads = false;
#else
constexpr bool children_may_start_threads = true;
#endif

TEST_P(EachDevice, ChildrenHaveFilesAndNothingElse) {
  const Bytes bytes = pattern(100'000);
  const Memory memory(device, bytes);
  millrace_file* file = open();
  millrace_request* request = nullptr;
  ASSERT_EQ(millrace_request_init(&request), 0);
  const pid_t child = fork();
  if (child == 0) {
    const bool right = millrace_write(file, nullptr, bytes.data(), 1000) == 1000 &&
                       millrace_write(file, device, memory.at(), 1000) == -EBADF &&
                       millrace_request_query(request) == -EBADF && millrace_device_close(device) == -EBADF &&
                       millrace_close(file) == 0;
    millrace_device* own = nullptr;
    void* address = nullptr;
    const bool opens =
        !children_may_start_threads ||
        (millrace_device_open("process", &own) == 0 && millrace_alloc(own, 100, &address) == 0 &&
         millrace_write_mem(own, address, bytes.data(), 100) == 0 && millrace_device_close(own) == 0);
    _exit(right && opens ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(millrace_write(file, device, memory.at(), bytes.size()), 100'000);
  EXPECT_EQ(millrace_size(file), 101'000) << "the position is shared, as after any fork";
  EXPECT_EQ(millrace_request_fini(request), 0);
  EXPECT_EQ(millrace_close(file), 0);
}

TEST_F(Api, HandlesThatAreNotOpenAreTold) {
  millrace_file* file = open();
  millrace_device* device = nullptr;
  ASSERT_EQ(millrace_device_open("host", &device), 0);
  int local = 0;
  EXPECT_EQ(millrace_size(nullptr), -EBADF);
  EXPECT_EQ(millrace_size(reinterpret_cast<millrace_file*>(&local)), -EBADF) << "no handle at all";
  EXPECT_EQ(millrace_size(reinterpret_cast<millrace_file*>(device)), -EBADF) << "of another kind";
  EXPECT_EQ(millrace_write(file, reinterpret_cast<millrace_device*>(file), &local, 1), -EBADF);
  EXPECT_EQ(millrace_close(file), 0);
  EXPECT_EQ(millrace_close(file), -EBADF) << "closed before";
  EXPECT_EQ(millrace_write(file, nullptr, &local, 1), -EBADF);
  EXPECT_THAT(millrace_explain(), HasSubstr("no such handle"));
  EXPECT_EQ(millrace_device_close(device), 0);
  EXPECT_EQ(millrace_request_fini(nullptr), -EBADF);
  EXPECT_EQ(millrace_channel_close(nullptr), -EBADF);
  EXPECT_EQ(millrace_queue_close(nullptr), -EBADF);
  EXPECT_EQ(millrace_queue_open(nullptr, nullptr), -EINVAL);
}

TEST_F(Api, FlagsAndPathsAreChecked) {
  millrace_file* file = nullptr;
  const std::string name = path();
  for (const int flags :
       {0, 64, MILLRACE_CREATE, MILLRACE_READ | MILLRACE_TRUNCATE, MILLRACE_WRITE | MILLRACE_EXCLUSIVE})
    EXPECT_EQ(millrace_open(name.c_str(), flags, 0600, &file), -EINVAL) << flags;
  EXPECT_EQ(millrace_open(nullptr, MILLRACE_READ, 0, &file), -EINVAL);
  EXPECT_EQ(millrace_open(name.c_str(), MILLRACE_READ, 0, nullptr), -EINVAL);
  EXPECT_EQ(millrace_open(name.c_str(), MILLRACE_READ, 0, &file), -ENOENT);
  EXPECT_THAT(millrace_explain(), HasSubstr(name));
  file = open();
  millrace_file* again = nullptr;
  EXPECT_EQ(millrace_open(name.c_str(), MILLRACE_WRITE | MILLRACE_CREATE | MILLRACE_EXCLUSIVE, 0600, &again),
            -EEXIST);
  EXPECT_EQ(millrace_write(file, nullptr, name.data(), name.size()), static_cast<std::int64_t>(name.size()));
  EXPECT_EQ(millrace_open(name.c_str(), MILLRACE_WRITE | MILLRACE_APPEND, 0, &again), 0);
  EXPECT_EQ(millrace_write(again, nullptr, "x", 1), 1);
  EXPECT_EQ(millrace_read(again, nullptr, &again, 1), -EBADF) << "not open for reading";
  EXPECT_EQ(millrace_close(again), 0);
  EXPECT_EQ(millrace_size(file), static_cast<std::int64_t>(name.size() + 1));
  EXPECT_EQ(millrace_truncate(file, 3), 0);
  EXPECT_EQ(millrace_size(file), 3);
  EXPECT_EQ(millrace_seek(file, 0, 7), -EINVAL);
  EXPECT_EQ(millrace_seek(file, -1, MILLRACE_SET), -EINVAL);
  EXPECT_EQ(millrace_write_at(file, nullptr, "x", 1, UINT64_MAX), -EINVAL);
  EXPECT_EQ(millrace_write_at(file, nullptr, "x", 1, INT64_MAX), -EINVAL);
  EXPECT_EQ(millrace_close(file), 0);
}

TEST_F(Api, PipesGiveWhatIsThere) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  millrace_file* reader = nullptr;
  millrace_file* writer = nullptr;
  ASSERT_EQ(millrace_adopt(ends[0], &reader), 0);
  ASSERT_EQ(millrace_adopt(ends[1], &writer), 0);
  EXPECT_EQ(millrace_descriptor(writer), ends[1]);
  char text[16] = "";
  EXPECT_EQ(millrace_write(writer, nullptr, "hello", 5), 5);
  EXPECT_EQ(millrace_read(reader, nullptr, text, sizeof text), 5);
  EXPECT_EQ(millrace_seek(reader, 0, MILLRACE_CURRENT), -ESPIPE);
  EXPECT_EQ(millrace_size(reader), -ESPIPE);
  EXPECT_EQ(millrace_sync(writer), -EINVAL);
  EXPECT_EQ(millrace_close(writer), 0);
  EXPECT_EQ(millrace_read(reader, nullptr, text, sizeof text), 0);
  EXPECT_EQ(millrace_close(reader), 0);
  EXPECT_EQ(millrace_adopt(ends[0], &reader), -EBADF);
}

TEST_F(Api, InterruptedCallsGoOn) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  millrace_file* reader = nullptr;
  ASSERT_EQ(millrace_adopt(ends[0], &reader), 0);
  struct sigaction quiet {};
  quiet.sa_handler = [](int) {};  // no SA_RESTART
  struct sigaction before {};
  sigaction(SIGUSR1, &quiet, &before);
  const pthread_t self = pthread_self();
  std::thread other([&] {
    for (int i = 0; i < 5; ++i) {
      usleep(10'000);
      pthread_kill(self, SIGUSR1);
    }
    EXPECT_EQ(::write(ends[1], "x", 1), 1);
  });
  char text = 0;
  EXPECT_EQ(millrace_read(reader, nullptr, &text, 1), 1);
  other.join();
  sigaction(SIGUSR1, &before, nullptr);
  ::close(ends[1]);
  EXPECT_EQ(millrace_close(reader), 0);
}

TEST_F(Api, AFullFileGivesACountAndThenTheError) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1'000'000, before.rlim_max};
  const Bytes bytes = pattern(3'000'000);
  millrace_file* file = open();
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_EQ(millrace_write(file, nullptr, bytes.data(), bytes.size()), 1'000'000);
  EXPECT_EQ(millrace_write(file, nullptr, bytes.data(), bytes.size()), -EFBIG);
  millrace_request* request = nullptr;
  ASSERT_EQ(millrace_request_init(&request), 0);
  ASSERT_EQ(millrace_request_write(request, file, nullptr, bytes.data(), bytes.size(), 500'000), 0);
  EXPECT_EQ(millrace_request_wait(request, -1), 500'000);
  ASSERT_EQ(millrace_request_write(request, file, nullptr, bytes.data(), bytes.size(), 1'000'000), 0);
  EXPECT_EQ(millrace_request_wait(request, -1), -EFBIG);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(millrace_request_fini(request), 0);
  EXPECT_EQ(millrace_close(file), 0);
}

// Passes device memory without naming its device. The library then keeps a staging ring until the end of the
// process, so the test runs this function in a process of its own.
void use_cuda_memory_by_its_address(const std::string& path) {
  millrace_device* device = nullptr;
  ASSERT_EQ(millrace_device_open("cuda", &device), 0) << millrace_explain();
  const Bytes bytes = pattern(300'000);
  const Memory memory(device, bytes);
  const Memory other(device, Bytes(bytes.size()));
  millrace_file* file = nullptr;
  ASSERT_EQ(millrace_open(path.c_str(), MILLRACE_READ | MILLRACE_WRITE | MILLRACE_CREATE, 0600, &file), 0);
  EXPECT_EQ(millrace_write(file, nullptr, memory.at(), bytes.size()), 300'000) << millrace_explain();
  Bytes read(bytes.size());
  EXPECT_EQ(millrace_read_at(file, nullptr, read.data(), read.size(), 0), 300'000);
  EXPECT_EQ(read, bytes);
  millrace_request* request = nullptr;
  ASSERT_EQ(millrace_request_init(&request), 0);
  ASSERT_EQ(millrace_request_read(request, file, nullptr, other.at(), bytes.size(), 0), 0);
  EXPECT_EQ(millrace_request_wait(request, -1), 300'000) << millrace_explain();
  EXPECT_EQ(other.get(), bytes);
  EXPECT_EQ(millrace_request_fini(request), 0);
  EXPECT_EQ(millrace_close(file), 0);
}

TEST_F(Api, CudaMemoryIsRecognisedWithoutItsDevice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        use_cuda_memory_by_its_address(path());
        std::filesystem::remove_all(folder);  // of the child's own SetUp(): the child has no TearDown()
        std::_Exit(HasFailure() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(Api, DevicesThatAreNotThereAreTold) {
  millrace_device* device = nullptr;
  for (const char* which : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "process:0", "process:1x"})
    EXPECT_EQ(millrace_device_open(which, &device), -EINVAL) << which;
  EXPECT_EQ(millrace_device_open("cuda:9", &device), -ENODEV);
  EXPECT_EQ(millrace_device_open("process:99999999", &device), -ESRCH);
  EXPECT_EQ(millrace_device_open(nullptr, &device), -EINVAL);
}

TEST_F(Api, AnotherProcessesMemoryIsReached) {
  const Bytes bytes = pattern(50'000);
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  millrace_device* device = nullptr;
  ASSERT_EQ(millrace_device_open(("process:" + std::to_string(child)).c_str(), &device), 0)
      << millrace_explain();
  Bytes read(bytes.size());
  // The forked child has the same bytes at the same address.
  EXPECT_EQ(millrace_read_mem(device, read.data(), bytes.data(), bytes.size()), 0) << millrace_explain();
  EXPECT_EQ(read, bytes);
  void* address = nullptr;
  EXPECT_EQ(millrace_alloc(device, 10, &address), -ENOTSUP);
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(millrace_read_mem(device, read.data(), bytes.data(), bytes.size()), -EIO);
  EXPECT_THAT(millrace_explain(), HasSubstr("has gone"));
  EXPECT_EQ(millrace_device_close(device), 0);
}

TEST_F(Api, DriverFailuresAreErrorsAndLeakNothing) {
  for (unsigned n = 1; n < 40; ++n) {
    fake_cuda_reset(n, 0);
    millrace_device* device = nullptr;
    ASSERT_EQ(millrace_device_open("cuda", &device), 0);
    void* address = nullptr;
    ASSERT_EQ(millrace_alloc(device, 100'000, &address), 0);
    fake_cuda_fail_at(fake_cuda_calls() + n, 999);
    const Bytes bytes = pattern(100'000);
    millrace_file* file = open();
    const std::int64_t count = millrace_write_at(file, device, address, bytes.size(), 0);
    EXPECT_TRUE(count == -EIO || (count >= 0 && count <= 100'000)) << n << ": " << count;
    EXPECT_EQ(millrace_close(file), 0);
    fake_cuda_fail_at(0, 0);
    EXPECT_EQ(millrace_device_close(device), 0);
    fake_cuda_live live{};
    fake_cuda_get_live(&live);
    EXPECT_EQ(live.streams + live.events + live.registrations + live.allocations + live.misuse, 0) << n;
  }
}

TEST_F(Api, CountsAndChecksums) {
  EXPECT_EQ(millrace_api_version(), MILLRACE_API_VERSION);
  EXPECT_EQ(millrace_get_counts(nullptr, 8), -EINVAL);
  struct {
    millrace_counts known;
    std::uint64_t later;
  } counts{{}, 1};
  EXPECT_EQ(millrace_get_counts(&counts.known, sizeof counts), 0);
  EXPECT_EQ(counts.later, 0U) << "what this library does not know is 0";
  EXPECT_EQ(millrace_checksum(nullptr, 0), 0x2d06800538d394c2U) << "XXH3-64 of nothing";
  EXPECT_NE(millrace_checksum("a", 1), millrace_checksum("b", 1));
}

}  // namespace
}  // namespace millrace::capi::testing
