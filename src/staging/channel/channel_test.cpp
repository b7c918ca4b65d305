// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/channel/channel.hpp"

#include <cerrno>
#include <cstring>
#include <numeric>
#include <thread>

#include "staging/testing/rig.hpp"

namespace millrace::staging {
namespace {

using namespace testing;
using Symbol = Channel::Symbol;

class ChannelTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    fds_ = open_descriptors();
    Result<std::unique_ptr<Channel>> made = start();
    ASSERT_TRUE(made.ok()) << made.status().describe();
    channel = *std::move(made);
    const Result<Channel::LibraryId> installed = channel->install(CHANNEL_FUNCTIONS, why);
    ASSERT_TRUE(installed.ok()) << why;
    library = *installed;
  }
  void TearDown() override {
    channel.reset();
    EXPECT_EQ(open_descriptors(), fds_);
  }
  Result<std::unique_ptr<Channel>> start() {
    return GetParam() == "thread" ? Channel::in_thread(pool) : Channel::in_process(pool, MILLRACE_HOST);
  }
  Symbol find(const char* name) {
    const Result<Symbol> symbol = channel->find(library, name, why);
    EXPECT_TRUE(symbol.ok()) << why;
    return symbol.ok() ? *symbol : Symbol{};
  }
  std::uint64_t call(const char* name, const std::vector<Argument>& arguments, Device* memory = nullptr) {
    const Result<std::uint64_t> result = channel->invoke(find(name), arguments, memory);
    EXPECT_TRUE(result.ok()) << result.status().describe();
    return result.ok() ? *result : UINT64_MAX;
  }
  template <class T>
  static MemoryRange range(std::vector<T>& values) {
    return MemoryRange::of(std::as_writable_bytes(std::span(values)));
  }

  HostDevice device;  // outlives the pool
  Pool pool{{.shape = {2, 64 * KiB, 16 * KiB}}};
  std::unique_ptr<Channel> channel;
  Channel::LibraryId library{};
  std::string why;

 private:
  std::size_t fds_ = 0;
};
INSTANTIATE_TEST_SUITE_P(All, ChannelTest, ::testing::Values("thread", "process"), backend_name);

TEST_P(ChannelTest, AFunctionReturnsItsValue) {
  EXPECT_EQ(call("add", {Argument::integer(40), Argument::integer(2)}), 42U);
  const pid_t where = static_cast<pid_t>(call("process", {}));
  EXPECT_EQ(where, GetParam() == "thread" ? getpid() : channel->process());
}

TEST_P(ChannelTest, NumbersOfAllKindsAreInTheirPlaces) {
  std::string text = "seven!!";
  const MemoryRange words = MemoryRange::of(std::as_writable_bytes(std::span(text.data(), text.size() + 1)));
  EXPECT_EQ(call("weigh", {Argument::integer(3), Argument::real(1.5), Argument::in(words),
                           Argument::real(2.5F), Argument::integer(10'000), Argument::real(500.0)}),
            3'010'682U);
  std::vector<Argument> most;
  for (unsigned i = 1; i <= 6; ++i) most.push_back(Argument::integer(i));
  for (unsigned i = 7; i <= 14; ++i) most.push_back(Argument::real(static_cast<double>(i)));
  EXPECT_EQ(call("most", most), 1015U);
  most.push_back(Argument::real(1.0));
  EXPECT_EQ(channel->invoke(find("most"), most).status().code(), Code::unsupported);
}

TEST_P(ChannelTest, MemoryIsCopiedInAndOut) {
  std::vector<double> in(1000);
  std::iota(in.begin(), in.end(), 1.0);
  std::vector<double> total(1);
  std::vector<double> scaled(1000, 2.0);
  EXPECT_EQ(call("sum", {Argument::in(range(in)), Argument::integer(1000), Argument::out(range(total)),
                         Argument::inout(range(scaled))}),
            1000U);
  EXPECT_EQ(total[0], 500'500.0);
  EXPECT_EQ(scaled[999], 2000.0);
  EXPECT_EQ(in[0], 1.0);
}

TEST_P(ChannelTest, MemoryOfADeviceIsCopiedInAndOut) {
  std::vector<double> in(100'000, 0.5);
  const std::size_t bytes = in.size() * sizeof(double);
  Bytes raw(bytes);
  std::memcpy(raw.data(), in.data(), bytes);
  Memory from(device, raw);
  Memory scaled(device, raw);
  std::vector<double> total(1);
  EXPECT_EQ(call("sum", {Argument::in({&device, from.at(), bytes}), Argument::integer(in.size()),
                         Argument::out(range(total)), Argument::inout({&device, scaled.at(), bytes})}),
            in.size());
  EXPECT_EQ(total[0], 50'000.0);
  std::memcpy(in.data(), scaled.get().data(), bytes);
  EXPECT_EQ(in.back(), 0.25);
}

TEST_P(ChannelTest, AFunctionFetchesAndSendsDataByItself) {
  const Bytes bytes = pattern(5'000'000);
  Memory memory(device, bytes);
  std::string path = ::testing::TempDir() + "millrace-channel-XXXXXX";
  const Fd file(mkostemp(path.data(), O_CLOEXEC));
  const MemoryRange name = MemoryRange::of(std::as_writable_bytes(std::span(path.data(), path.size() + 1)));
  EXPECT_EQ(
      call("to_file",
           {Argument::call(), Argument::in(name), Argument::integer(static_cast<std::uint64_t>(memory.at())),
            Argument::integer(bytes.size())},
           &device),
      0U);
  Bytes written(bytes.size());
  EXPECT_EQ(pread(file.get(), written.data(), written.size(), 0), static_cast<ssize_t>(written.size()));
  EXPECT_EQ(written, bytes);
  unlink(path.c_str());
  EXPECT_EQ(call("fill",
                 {Argument::call(), Argument::integer(static_cast<std::uint64_t>(memory.at())),
                  Argument::integer(bytes.size()), Argument::integer(7)},
                 &device),
            0U);
  EXPECT_EQ(memory.get(), Bytes(bytes.size(), std::byte{7}));
  EXPECT_EQ(
      call("fill", {Argument::call(), Argument::integer(4096), Argument::integer(100), Argument::integer(7)},
           &device),
      static_cast<std::uint64_t>(EFAULT));
  EXPECT_EQ(call("add", {Argument::integer(1), Argument::integer(1)}), 2U) << "the channel goes on";
}

TEST_P(ChannelTest, WhatIsNotThereIsSaid) {
  EXPECT_EQ(channel->install("/no/such/library.so", why).status().error(), ENOENT);
  EXPECT_NE(why.find("/no/such/library.so"), std::string::npos) << why;
  EXPECT_EQ(channel->find(library, "no_such_function", why).status().error(), ENOENT);
  EXPECT_NE(why.find("no_such_function"), std::string::npos) << why;
  EXPECT_FALSE(channel->invoke(Symbol{99}, {}).ok());
  EXPECT_TRUE(channel->uninstall(library).ok());
  EXPECT_FALSE(channel->uninstall(library).ok());
  EXPECT_FALSE(channel->find(library, "add", why).ok());
}

TEST_P(ChannelTest, ThreadsTakeTurns) {
  const Symbol add = find("add");
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (unsigned round = 0; round < 50; ++round) {
        const std::vector<Argument> arguments{Argument::integer(i), Argument::integer(round)};
        const Result<std::uint64_t> result = channel->invoke(add, arguments);
        wrong[i] += !result.ok() || *result != i + round;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

TEST_P(ChannelTest, AProcessThatDiesIsAnErrorOfTheCall) {
  if (GetParam() == "thread") return;
  EXPECT_EQ(channel->invoke(find("die"), {}).status(), Status(Code::io, ESRCH));
  EXPECT_EQ(channel->install(CHANNEL_FUNCTIONS, why).status(), Status(Code::io, ESRCH));
}

TEST_P(ChannelTest, AProgramThatIsNotThereIsAnError) {
  if (GetParam() == "thread") return;
  EXPECT_EQ(Channel::in_process(pool, "/no/such/program").status().code(), Code::not_found);
}

}  // namespace
}  // namespace millrace::staging
