// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/requests.hpp"

#include <atomic>
#include <cerrno>
#include <thread>

#include "staging/testing/faulty_calls.hpp"
#include "staging/testing/rig.hpp"

namespace millrace::staging {
namespace {

using namespace testing;
using ContextId = AsyncRequests::ContextId;

constexpr PoolOptions small{.shape = {2, 16 * KiB, 4 * KiB}, .bytes_max = 128 * KiB};

using RequestsTest = EachDevice;
INSTANTIATE_TEST_SUITE_P(All, RequestsTest, ::testing::ValuesIn(backends()), backend_name);

TEST_P(RequestsTest, ManyRequestsMoveWhatTheyShould) {
  Pool pool(small);
  AsyncRequests requests(pool, {});
  constexpr std::size_t count = 20;
  constexpr std::size_t size = 100'000;
  const File file;
  std::vector<std::unique_ptr<Memory>> from;
  std::vector<ContextId> contexts;
  for (std::size_t i = 0; i < count; ++i) {
    from.push_back(std::make_unique<Memory>(*device, pattern(size, i)));
    const Result<ContextId> context = requests.init();
    ASSERT_TRUE(context.ok());
    contexts.push_back(*context);
    ASSERT_TRUE(requests.write(*context, file.get(), i * size, {device.get(), from[i]->at(), size}).ok());
  }
  for (const ContextId context : contexts)
    EXPECT_EQ(requests.wait(context).count(), static_cast<ssize_t>(size));
  Memory to(*device, size);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(requests.read(contexts[i], file.get(), i * size, {device.get(), to.at(), size}).ok());
    EXPECT_EQ(requests.wait(contexts[i]).count(), static_cast<ssize_t>(size));
    EXPECT_EQ(to.get(), pattern(size, i));
    EXPECT_TRUE(requests.fini(contexts[i]).ok());
  }
  EXPECT_LE(pool.counts().peak_bytes, small.bytes_max);
}

TEST_P(RequestsTest, AReadIsShortAtTheEndOfTheFile) {
  Pool pool(small);
  AsyncRequests requests(pool, {});
  const File file(pattern(30'000));
  Memory to(*device, 50'000);
  const ContextId context = *requests.init();
  ASSERT_TRUE(requests.read(context, file.get(), 10'000, {device.get(), to.at(), 50'000}).ok());
  EXPECT_EQ(requests.wait(context).count(), 20'000);
}

class HostRequests : public ::testing::Test {
 protected:
  static MemoryRange range(Bytes& bytes) { return MemoryRange::of(bytes); }
  Pool pool{small};
  File file;
  Bytes bytes = pattern(9'000'000);
};

TEST_F(HostRequests, MemoryOfTheProgramNeedsNoDevice) {
  AsyncRequests requests(pool, {});
  const ContextId context = *requests.init();
  ASSERT_TRUE(requests.write(context, file.get(), 5, range(bytes)).ok());
  EXPECT_EQ(requests.wait(context).count(), 9'000'000);
  Bytes back(bytes.size());
  ASSERT_TRUE(requests.read(context, file.get(), 5, range(back)).ok());
  EXPECT_EQ(requests.wait(context).count(), 9'000'000);
  EXPECT_EQ(back, bytes);
  EXPECT_EQ(pool.counts().peak_bytes, 0U);
}

// Writes that wait at a gate. A test can make one of them fail.
std::atomic<int> calls_made;
std::atomic<int> fails_at;
std::atomic<bool> gate_open;
std::atomic<bool> at_gate;
const EndCalls gated{
    ::read,
    ::write,
    ::pread,
    [](int fd, const void* from, std::size_t bytes, off_t offset) -> ssize_t {
      at_gate = true;
      while (!gate_open) usleep(1000);
      if (++calls_made == fails_at) {
        errno = ENOSPC;
        return -1;
      }
      return ::pwrite(fd, from, bytes, offset);
    },
    ::lseek,
    ::poll,
};

TEST_F(HostRequests, WhatWasMovedBeforeAnErrorIsTheResult) {
  AsyncRequests requests(pool, {.calls = &gated});
  gate_open = true;
  const ContextId context = *requests.init();
  for (const int at : {1, 2}) {
    calls_made = 0;
    fails_at = at;
    ASSERT_TRUE(requests.write(context, file.get(), 0, range(bytes)).ok());
    const Moved moved = requests.wait(context);
    EXPECT_EQ(moved.count(), at == 1 ? -ENOSPC : static_cast<ssize_t>(4 * MiB));
    EXPECT_EQ(moved.status.error(), ENOSPC);
    EXPECT_EQ(calls_made, at) << "nothing after a short piece";
  }
  fails_at = 0;
}

TEST_F(HostRequests, AContextCarriesOneRequestAtATime) {
  gate_open = false;
  AsyncRequests requests(pool, {.calls = &gated});
  const ContextId context = *requests.init();
  EXPECT_EQ(requests.query(context).status().code(), Code::invalid) << "nothing was asked for";
  EXPECT_EQ(requests.wait(context).count(), -EINVAL);
  ASSERT_TRUE(requests.write(context, file.get(), 0, range(bytes)).ok());
  EXPECT_EQ(requests.write(context, file.get(), 0, range(bytes)).code(), Code::invalid);
  EXPECT_FALSE(*requests.query(context));
  gate_open = true;
  EXPECT_EQ(requests.wait(context).count(), 9'000'000);
  EXPECT_EQ(requests.wait(context).count(), -EINVAL) << "the outcome is told once";
  EXPECT_TRUE(requests.fini(context).ok());
  EXPECT_EQ(requests.fini(context).code(), Code::invalid);
  EXPECT_EQ(requests.write(context, file.get(), 0, range(bytes)).code(), Code::invalid);
}

TEST_F(HostRequests, EndingAContextDropsWhatHasNotBegun) {
  gate_open = at_gate = false;
  AsyncRequests requests(pool, {.workers = 1, .timeout_ms = 50, .calls = &gated});
  const ContextId under_way = *requests.init();
  const ContextId waits = *requests.init();
  ASSERT_TRUE(requests.write(under_way, file.get(), 0, range(bytes)).ok());
  for (int tries = 0; tries < 10'000 && !at_gate; ++tries) usleep(1000);
  EXPECT_EQ(requests.fini(under_way).code(), Code::timeout);
  ASSERT_TRUE(requests.write(waits, file.get(), 20'000'000, range(bytes)).ok());
  EXPECT_TRUE(requests.fini(waits).ok());
  gate_open = true;
  EXPECT_EQ(requests.wait(under_way).count(), 9'000'000);
  EXPECT_EQ(file.size(), 9'000'000);
}

TEST_F(HostRequests, ContextsAreBounded) {
  AsyncRequests requests(pool, {.contexts_max = 2});
  EXPECT_TRUE(requests.init().ok());
  const Result<ContextId> second = requests.init();
  EXPECT_EQ(requests.init().status().code(), Code::no_memory);
  EXPECT_TRUE(requests.fini(*second).ok());
  EXPECT_TRUE(requests.init().ok());
}

}  // namespace
}  // namespace millrace::staging
