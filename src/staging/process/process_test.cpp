// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <thread>

#include "staging/pool.hpp"
#include "staging/testing/rig.hpp"

namespace millrace::staging {
namespace {

using namespace testing;

std::unique_ptr<ProcessDevice> start() {
  Result<std::unique_ptr<ProcessDevice>> device = ProcessDevice::start();
  EXPECT_TRUE(device.ok());
  return device.ok() ? *std::move(device) : nullptr;
}

void expect_dead(Device& device, Address at) {
  Bytes host(4096);
  EXPECT_EQ(copy_now(device, CopyDirection::to_host, at, host), Status(Code::io, ESRCH));
  EXPECT_EQ(device.allocate(4096).status(), Status(Code::io, ESRCH));
  EXPECT_NE(device.explain().find("has gone"), std::string::npos);
}

TEST(ProcessDevice, AKilledHelperIsAnErrorOfEveryCall) {
  const auto device = start();
  Memory memory(*device, pattern(4096));
  EXPECT_TRUE(device->explain().empty());
  ASSERT_EQ(kill(device->pid(), SIGKILL), 0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(device->pid()), &info, WEXITED | WNOWAIT), 0);
  expect_dead(*device, memory.at());
}

// At any time of a transfer, the bytes that were counted are in the file.
TEST(ProcessDevice, AHelperKilledMidwayLeavesATrueCount) {
  std::mt19937_64 dice(test_seed());
  const Bytes bytes = pattern(8'000'000);
  for (int round = 0; round < 8; ++round) {
    const auto device = start();
    Pool pool({.shape = {2, 64 * KiB, 64 * KiB}});
    Memory memory(*device, bytes);
    const File file;
    FileEnd end(file.get());
    const auto when = std::chrono::microseconds(dice() % 4000);
    std::thread killer([&] {
      std::this_thread::sleep_for(when);
      kill(device->pid(), SIGKILL);
    });
    const Moved moved = pool.write(*device, memory.at(), bytes.size(), end);
    killer.join();
    EXPECT_EQ(file.contents(), first(bytes, moved.bytes)) << "seed " << test_seed();
    if (moved.bytes < bytes.size()) {
      EXPECT_EQ(moved.status.error(), EIO);
    }
  }
}

TEST(ProcessDevice, AHelperHoldsNoDescriptorOfItsParent) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const Fd out(ends[0]);
  Fd in(ends[1]);
  const auto device = start();
  Memory settled(*device, 16);
  in.reset();
  char byte = 0;
  EXPECT_EQ(read(out.get(), &byte, 1), 0) << "the pipe's end of file";
}

TEST(ProcessDevice, AHelperLeavesWithItsDevice) {
  auto device = start();
  const pid_t pid = device->pid();
  device.reset();
  EXPECT_EQ(kill(pid, 0), -1);
}

TEST(ProcessDevice, AHelperLeavesWithAParentThatIsKilled) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const Fd out(ends[0]);
  const pid_t parent = fork();
  if (parent == 0) {
    const auto device = start();
    const pid_t helper = device->pid();
    if (write(ends[1], &helper, sizeof helper) != sizeof helper) _exit(1);
    pause();
    _exit(0);
  }
  close(ends[1]);
  pid_t helper = 0;
  ASSERT_EQ(read(out.get(), &helper, sizeof helper), static_cast<ssize_t>(sizeof helper));
  ASSERT_EQ(kill(helper, 0), 0);
  kill(parent, SIGKILL);
  ASSERT_EQ(waitpid(parent, nullptr, 0), parent);
  const auto alive = [&] {
    // The helper may be a zombie until init reaps it.
    std::ifstream stat("/proc/" + std::to_string(helper) + "/stat");
    std::string line;
    return std::getline(stat, line) && line.find(") Z ") == std::string::npos;
  };
  for (int tries = 0; tries < 500 && alive(); ++tries) usleep(10'000);
  EXPECT_FALSE(alive());
}

TEST(ProcessDevice, AnotherProcessIsAttachedToByItsNumber) {
  const Bytes bytes = pattern(100'000);
  Bytes shared = bytes;
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t other = fork();
  if (other == 0) {
    close(ends[1]);
    char byte = 0;
    const ssize_t ended = read(ends[0], &byte, 1);
    _exit(ended == 0 && shared == pattern(100'000, 2) ? 0 : 1);
  }
  close(ends[0]);
  Result<std::unique_ptr<ProcessDevice>> device = ProcessDevice::attach(other);
  ASSERT_TRUE(device.ok());
  const Address at = address_of(shared.data());
  EXPECT_TRUE((*device)->owns(at));
  EXPECT_EQ((*device)->allocate(10).status().code(), Code::unsupported);
  Bytes got(bytes.size());
  EXPECT_TRUE(copy_now(**device, CopyDirection::to_host, at, got).ok());
  EXPECT_EQ(got, bytes);
  Bytes next = pattern(100'000, 2);
  EXPECT_TRUE(copy_now(**device, CopyDirection::to_device, at, next).ok());
  EXPECT_EQ(shared, bytes) << "this process's own is another";
  close(ends[1]);
  int status = 1;
  ASSERT_EQ(waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(copy_now(**device, CopyDirection::to_host, at, got), Status(Code::io, ESRCH));
}

TEST(ProcessDevice, AProcessThatIsNotThereIsNotAttachedTo) {
  EXPECT_EQ(ProcessDevice::attach(999'999'999).status().error(), ESRCH);
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  ASSERT_EQ(waitpid(gone, nullptr, 0), gone);
  EXPECT_EQ(ProcessDevice::attach(gone).status().error(), ESRCH);
}

}  // namespace
}  // namespace millrace::staging
