// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "capi/testing/rig.hpp"

namespace millrace::capi::testing {
namespace {

using ::testing::HasSubstr;

class Offload : public Api, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    Api::SetUp();
    ASSERT_EQ(millrace_channel_open(GetParam(), &channel), 0) << millrace_explain();
    ASSERT_EQ(millrace_install(channel, CHANNEL_FUNCTIONS, &library), 0) << millrace_explain();
    ASSERT_EQ(millrace_device_open("process", &device), 0) << millrace_explain();
  }
  void TearDown() override {
    EXPECT_EQ(millrace_device_close(device), 0);
    EXPECT_EQ(millrace_channel_close(channel), 0);
    Api::TearDown();
  }
  std::uint64_t find(const char* name) {
    std::uint64_t symbol = 0;
    EXPECT_EQ(millrace_find(channel, library, name, &symbol), 0) << millrace_explain();
    return symbol;
  }
  int invoke(const char* name, const std::vector<millrace_argument>& arguments, std::uint64_t* returned,
             millrace_device* memory = nullptr) {
    return millrace_invoke(channel, find(name), arguments.data(), arguments.size(), memory, returned);
  }

  millrace_channel* channel = nullptr;
  millrace_device* device = nullptr;
  std::uint64_t library = 0;
};
INSTANTIATE_TEST_SUITE_P(All, Offload, ::testing::Values(MILLRACE_THREAD, MILLRACE_PROCESS),
                         [](const auto& one) {
                           return std::string(one.param == MILLRACE_THREAD ? "thread" : "process");
                         });

// A pipe from which the host function wait_for reads.
class Pipe {
 public:
  explicit Pipe(std::string path) : path_(std::move(path)) { EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0); }
  millrace_argument argument() const {
    return millrace_memory(MILLRACE_IN, nullptr, const_cast<char*>(path_.c_str()), path_.size() + 1);
  }
  // Returns when the host function reads the pipe.
  int open() const { return ::open(path_.c_str(), O_WRONLY | O_CLOEXEC); }
  void let_go() const {
    const int fd = open();
    EXPECT_EQ(::write(fd, "x", 1), 1);
    ::close(fd);
  }

 private:
  std::string path_;
};

TEST_P(Offload, ArgumentsOfAllKindsArrive) {
  std::uint64_t returned = 0;
  char text[] = "seven!!";
  EXPECT_EQ(invoke("weigh",
                   {millrace_integer(3), millrace_real(1.5),
                    millrace_memory(MILLRACE_IN, nullptr, text, sizeof text), millrace_real32(2.5F),
                    millrace_integer(10'000), millrace_real(500.0)},
                   &returned),
            0);
  EXPECT_EQ(returned, 3'010'682U);
  std::vector<double> in(1000);
  std::iota(in.begin(), in.end(), 1.0);
  const std::size_t bytes = in.size() * sizeof(double);
  double total = 0;
  Bytes raw(bytes);
  std::memcpy(raw.data(), in.data(), bytes);
  const Memory scaled(device, raw);
  EXPECT_EQ(invoke("sum",
                   {millrace_memory(MILLRACE_IN, nullptr, in.data(), bytes), millrace_integer(in.size()),
                    millrace_memory(MILLRACE_OUT, nullptr, &total, sizeof total),
                    millrace_memory(MILLRACE_INOUT, device, scaled.at(), bytes)},
                   &returned),
            0);
  EXPECT_EQ(total, 500'500.0);
  double last = 0;
  std::memcpy(&last, scaled.get().data() + bytes - sizeof last, sizeof last);
  EXPECT_EQ(last, 1e6);
}

TEST_P(Offload, AFunctionReachesTheCallersMemory) {
  const Memory memory(device, Bytes(3'000'000));
  std::uint64_t returned = 1;
  const auto address = reinterpret_cast<std::uintptr_t>(memory.at());
  EXPECT_EQ(invoke("fill",
                   {millrace_argument_of(MILLRACE_CALL), millrace_integer(address),
                    millrace_integer(3'000'000), millrace_integer(7)},
                   &returned, device),
            0);
  EXPECT_EQ(returned, 0U);
  EXPECT_EQ(memory.get(), Bytes(3'000'000, 7));
}

TEST_P(Offload, WhatIsWrongIsTold) {
  std::uint64_t number = 0;
  EXPECT_EQ(millrace_install(channel, "/no/such/library.so", &number), -ENOENT);
  EXPECT_THAT(millrace_explain(), HasSubstr("/no/such/library.so"));
  EXPECT_EQ(millrace_find(channel, library, "no_such_function", &number), -ENOENT);
  EXPECT_THAT(millrace_explain(), HasSubstr("no_such_function"));
  EXPECT_EQ(millrace_find(channel, 99, "add", &number), -EINVAL);
  EXPECT_EQ(millrace_invoke(channel, 99, nullptr, 0, nullptr, &number), -EINVAL);
  EXPECT_THAT(millrace_explain(), HasSubstr("no such function"));
  EXPECT_EQ(millrace_install(channel, nullptr, &number), -EINVAL);
  EXPECT_EQ(millrace_find(channel, library, "add", nullptr), -EINVAL);
  EXPECT_EQ(invoke("add", std::vector<millrace_argument>(7, millrace_integer(1)), &number), -E2BIG);
  EXPECT_EQ(invoke("add", std::vector<millrace_argument>(15, millrace_real(1)), &number), -E2BIG);
  EXPECT_EQ(invoke("add", {millrace_argument_of(9)}, &number), -EINVAL);
  EXPECT_EQ(invoke("add", {millrace_memory(MILLRACE_IN, nullptr, nullptr, 8)}, &number), -EFAULT);
  EXPECT_EQ(invoke("add", {millrace_memory(MILLRACE_IN, device, reinterpret_cast<void*>(4096), 8)}, &number),
            -EFAULT);
  EXPECT_EQ(invoke("add", {millrace_integer(40), millrace_integer(2)}, &number), 0);
  EXPECT_EQ(number, 42U);
  EXPECT_EQ(millrace_uninstall(channel, library), 0);
  EXPECT_EQ(millrace_uninstall(channel, library), -EINVAL);
  millrace_channel* other = nullptr;
  EXPECT_EQ(millrace_channel_open(7, &other), -EINVAL);
}

TEST_P(Offload, QueuesDoTransfersAndCallsInOrder) {
  millrace_queue* queue = nullptr;
  ASSERT_EQ(millrace_queue_open(device, &queue), 0);
  const Memory memory(device, Bytes(2'000'000));
  const Bytes bytes = pattern(2'000'000);
  Bytes back(bytes.size());
  std::uint64_t written = 0, called = 0, filled = 0, read = 0, returned = 0;
  ASSERT_EQ(millrace_queue_write_mem(queue, memory.at(), bytes.data(), bytes.size(), &written), 0);
  const millrace_argument sum[] = {millrace_integer(40), millrace_integer(2)};
  ASSERT_EQ(millrace_queue_call(queue, channel, find("add"), sum, 2, &called), 0);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.at());
  const millrace_argument fill[] = {millrace_argument_of(MILLRACE_CALL), millrace_integer(address),
                                    millrace_integer(1000), millrace_integer(9)};
  ASSERT_EQ(millrace_queue_call(queue, channel, find("fill"), fill, 4, &filled), 0);
  ASSERT_EQ(millrace_queue_read_mem(queue, back.data(), memory.at(), back.size(), &read), 0);
  EXPECT_EQ(millrace_queue_sync(queue, 20'000), 0);
  EXPECT_EQ(millrace_queue_peek(queue, read), 1);
  EXPECT_EQ(millrace_queue_wait(queue, called, 0, &returned), 0);
  EXPECT_EQ(returned, 42U);
  EXPECT_EQ(millrace_queue_wait(queue, called, 0, &returned), -EINVAL) << "once";
  EXPECT_EQ(millrace_queue_peek(queue, called), -EINVAL);
  EXPECT_EQ(millrace_queue_wait(queue, written, -1, nullptr), 0);
  EXPECT_EQ(millrace_queue_wait(queue, filled, -1, nullptr), 0);
  EXPECT_EQ(millrace_queue_wait(queue, read, -1, nullptr), 0);
  Bytes expected = bytes;
  std::fill_n(expected.begin(), 1000, 9);
  EXPECT_EQ(back, expected);
  EXPECT_EQ(millrace_queue_close(queue), 0);
}

TEST_P(Offload, AQueueTellsEachCommandsOwnError) {
  millrace_queue* queue = nullptr;
  ASSERT_EQ(millrace_queue_open(device, &queue), 0);
  Bytes host(10);
  std::uint64_t wrong = 0, right = 0, slow = 0;
  ASSERT_EQ(millrace_queue_read_mem(queue, host.data(), reinterpret_cast<void*>(4096), 10, &wrong), 0);
  const millrace_argument numbers[] = {millrace_integer(1), millrace_integer(2)};
  ASSERT_EQ(millrace_queue_call(queue, channel, find("add"), numbers, 2, &right), 0);
  EXPECT_EQ(millrace_queue_wait(queue, wrong, -1, nullptr), -EFAULT);
  EXPECT_EQ(millrace_queue_wait(queue, right, -1, nullptr), 0);
  EXPECT_EQ(millrace_queue_call(queue, nullptr, 1, numbers, 2, &right), -EBADF);
  const Pipe pipe(path("pipe"));
  const millrace_argument until[] = {pipe.argument()};
  ASSERT_EQ(millrace_queue_call(queue, channel, find("wait_for"), until, 1, &slow), 0);
  EXPECT_EQ(millrace_queue_peek(queue, slow), 0);
  EXPECT_EQ(millrace_queue_wait(queue, slow, 10, nullptr), -ETIMEDOUT);
  EXPECT_EQ(millrace_queue_sync(queue, 10), -ETIMEDOUT);
  pipe.let_go();
  EXPECT_EQ(millrace_queue_wait(queue, slow, -1, nullptr), 0);
  EXPECT_EQ(millrace_queue_close(queue), 0);
}

TEST_P(Offload, AQueueThatIsClosedDropsWhatHasNotBegun) {
  millrace_queue* queue = nullptr;
  ASSERT_EQ(millrace_queue_open(device, &queue), 0);
  const Memory memory(device, Bytes(10));
  const Bytes other(10, 7);
  const Pipe pipe(path("pipe"));
  const millrace_argument until[] = {pipe.argument()};
  std::uint64_t begun = 0, dropped = 0;
  ASSERT_EQ(millrace_queue_call(queue, channel, find("wait_for"), until, 1, &begun), 0);
  ASSERT_EQ(millrace_queue_write_mem(queue, memory.at(), other.data(), other.size(), &dropped), 0);
  const int writer = pipe.open();  // the first command runs
  std::thread closing([&] { EXPECT_EQ(millrace_queue_close(queue), 0); });
  while (millrace_queue_peek(queue, dropped) == 0) usleep(1000);
  EXPECT_EQ(::write(writer, "x", 1), 1);
  ::close(writer);
  closing.join();
  EXPECT_EQ(millrace_queue_wait(queue, dropped, 0, nullptr), -EBADF);
  EXPECT_EQ(memory.get(), Bytes(10));
}

TEST_P(Offload, AProcessThatDiesIsAnErrorOfTheCall) {
  if (GetParam() == MILLRACE_THREAD) return;
  EXPECT_EQ(invoke("die", {}, nullptr), -ESRCH);
  EXPECT_THAT(millrace_explain(), HasSubstr("open another channel"));
  std::uint64_t number = 0;
  EXPECT_EQ(millrace_install(channel, CHANNEL_FUNCTIONS, &number), -ESRCH);
}

TEST_P(Offload, TicketsAreBounded) {
  millrace_queue* queue = nullptr;
  ASSERT_EQ(millrace_queue_open(device, &queue), 0);
  char host = 0;
  std::uint64_t ticket = 0;
  for (int i = 0; i < 4096; ++i) ASSERT_EQ(millrace_queue_write_mem(queue, nullptr, &host, 0, &ticket), 0);
  EXPECT_EQ(millrace_queue_write_mem(queue, nullptr, &host, 0, &ticket), -EAGAIN);
  EXPECT_EQ(millrace_queue_wait(queue, 1, -1, nullptr), 0);
  EXPECT_EQ(millrace_queue_write_mem(queue, nullptr, &host, 0, &ticket), 0);
  EXPECT_EQ(ticket, 4097U);
  EXPECT_EQ(millrace_queue_close(queue), 0);
}

}  // namespace
}  // namespace millrace::capi::testing
