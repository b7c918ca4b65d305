// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <deque>

#include "staging/buffers.hpp"
#include "staging/testing/rig.hpp"

// Tests that every kind of device behaves alike.
namespace millrace::staging {
namespace {

using namespace testing;

using DeviceTest = EachDevice;
INSTANTIATE_TEST_SUITE_P(All, DeviceTest, ::testing::ValuesIn(backends()), backend_name);

TEST_P(DeviceTest, BytesComeBackAsTheyWent) {
  for (const std::size_t size : {1UL, 7UL, 4095UL, 4096UL, 4097UL, 1'000'003UL}) {
    const Bytes bytes = pattern(size, size);
    Memory memory(*device, bytes);
    EXPECT_EQ(memory.get(), bytes) << size;
  }
}

TEST_P(DeviceTest, CopiesBeginAnywhereInAnAllocation) {
  const Bytes bytes = pattern(10'000);
  Memory memory(*device, bytes);
  Bytes part(777);
  ASSERT_TRUE(copy_now(*device, CopyDirection::to_host, memory.at() + 1234, part).ok());
  EXPECT_TRUE(std::equal(part.begin(), part.end(), bytes.begin() + 1234));
}

TEST_P(DeviceTest, CopiesOfAQueueAreInTheirOrder) {
  constexpr std::size_t size = 20'000;
  Memory memory(*device, size);
  Result<std::unique_ptr<Queue>> queue = device->open_queue();
  ASSERT_TRUE(queue.ok());
  std::deque<Bytes> host;
  std::vector<CopyTicket> tickets;
  for (unsigned i = 0; i < 4; ++i) {
    host.push_back(pattern(size, i));
    host.emplace_back(size);
    for (const CopyDirection direction : {CopyDirection::to_device, CopyDirection::to_host}) {
      Bytes& bytes = host[host.size() - (direction == CopyDirection::to_device ? 2 : 1)];
      const Result<CopyTicket> ticket = (*queue)->post(direction, memory.at(), bytes);
      ASSERT_TRUE(ticket.ok());
      tickets.push_back(*ticket);
    }
  }
  for (const CopyTicket ticket : tickets) EXPECT_TRUE((*queue)->wait(ticket).ok());
  for (std::size_t i = 0; i < host.size(); i += 2) EXPECT_EQ(host[i], host[i + 1]) << i;
}

TEST_P(DeviceTest, PollSaysInTimeThatACopyIsOver) {
  Memory memory(*device, pattern(100'000));
  Bytes host(100'000);
  Result<std::unique_ptr<Queue>> queue = device->open_queue();
  ASSERT_TRUE(queue.ok());
  const Result<CopyTicket> ticket = (*queue)->post(CopyDirection::to_host, memory.at(), host);
  ASSERT_TRUE(ticket.ok());
  Result<bool> over = false;
  for (int tries = 0; tries < 20'000 && over.ok() && !*over; ++tries) {
    over = (*queue)->poll(*ticket);
    usleep(500);
  }
  ASSERT_TRUE(over.ok() && *over);
  EXPECT_EQ(host, pattern(100'000));
  EXPECT_EQ((*queue)->wait(*ticket).code(), Code::invalid) << "a ticket is settled once";
}

TEST_P(DeviceTest, MoreCopiesInFlightThanAllowedAreRefused) {
  Memory memory(*device, 64);
  Result<std::unique_ptr<Queue>> queue = device->open_queue();
  ASSERT_TRUE(queue.ok());
  Bytes host(64);
  std::vector<CopyTicket> tickets;
  for (std::size_t i = 0; i < device->caps().in_flight_max; ++i) {
    const Result<CopyTicket> ticket = (*queue)->post(CopyDirection::to_host, memory.at(), host);
    ASSERT_TRUE(ticket.ok()) << i;
    tickets.push_back(*ticket);
  }
  EXPECT_EQ((*queue)->post(CopyDirection::to_host, memory.at(), host).status().code(), Code::invalid);
  for (const CopyTicket ticket : tickets) EXPECT_TRUE((*queue)->wait(ticket).ok());
}

TEST_P(DeviceTest, AWrongAddressIsAFaultAndNothingElse) {
  const Bytes bytes = pattern(8192);
  Memory memory(*device, bytes);
  Result<std::unique_ptr<Queue>> queue = device->open_queue();
  ASSERT_TRUE(queue.ok());
  Bytes host(4096);
  const Result<CopyTicket> wrong = (*queue)->post(CopyDirection::to_host, Address{4096}, host);
  const Status status = wrong.ok() ? (*queue)->wait(*wrong) : wrong.status();
  EXPECT_EQ(status.error(), EFAULT);
  EXPECT_EQ(memory.get(), bytes);
}

TEST_P(DeviceTest, ADeviceKnowsItsMemory) {
  Address address{};
  {
    Memory memory(*device, 10'000);
    address = memory.at();
    EXPECT_TRUE(device->owns(address));
    EXPECT_TRUE(device->owns(address + 9'999));
    const int local = 0;
    EXPECT_FALSE(device->owns(address_of(&local)));
    EXPECT_FALSE(device->owns(Address{}));
  }
  EXPECT_FALSE(device->owns(address)) << "it was released";
}

TEST_P(DeviceTest, WhatIsNotAllocatedIsNotReleased) {
  if (GetParam() == "cuda") return;  // this is misuse, which the fake driver counts
  EXPECT_FALSE(device->release(Address{4096}).ok());
  EXPECT_FALSE(device->allocate(0).ok());
}

TEST_P(DeviceTest, MemoryIsPinnedOnceAndUnpinnedOnce) {
  Result<std::unique_ptr<Buffers>> buffers = Buffers::create(64 * KiB);
  ASSERT_TRUE(buffers.ok());
  const std::span<std::byte> all = (*buffers)->all();
  ASSERT_TRUE(device->pin(all).ok());
  if (GetParam() != "cuda") {
    EXPECT_EQ(device->pin(all).code(), Code::invalid);
    EXPECT_EQ(device->pin(all.subspan(4096, 4096)).code(), Code::invalid);
  }
  EXPECT_TRUE(device->unpin(all).ok());
  if (GetParam() != "cuda") {
    EXPECT_EQ(device->unpin(all).code(), Code::invalid);
  }
}

TEST_P(DeviceTest, QueuesOfSeveralThreadsDoNotMeet) {
  constexpr int threads_count = 4;
  std::vector<std::thread> threads;
  threads.reserve(threads_count);
  std::vector<int> wrong(threads_count);
  for (int i = 0; i < threads_count; ++i) {
    threads.emplace_back([&, i] {
      for (unsigned round = 0; round < 5; ++round) {
        const Bytes bytes = pattern(30'000, static_cast<unsigned>(i) * 100 + round);
        Memory memory(*device, bytes);
        wrong[static_cast<std::size_t>(i)] += memory.get() != bytes;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(threads_count));
}

}  // namespace
}  // namespace millrace::staging
