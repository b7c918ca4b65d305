// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/factory.hpp"
#include "io/posix/descriptor.hpp"
#include "io/virtual/memory_storage.hpp"

namespace millrace::io {
namespace {

// Tests that every implementation behaves alike.
class Conformance : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    kind = GetParam();
    if (kind == "memory") {
      auto memory = std::make_unique<MemoryStorage>();
      in_memory = memory.get();
      storage = std::move(memory);
      return;
    }
    if (kind == "io_uring" && !io_uring_availability().usable) {
      GTEST_SKIP() << io_uring_availability().reason;
    }
    Result<Chosen> chosen = make_storage(kind == "io_uring" ? SinkMode::direct : SinkMode::buffered);
    ASSERT_TRUE(chosen.ok());
    ASSERT_EQ(chosen->name, kind) << chosen->reason;
    storage = std::move(chosen->storage);
  }
  void TearDown() override {
    if (in_memory == nullptr) return;
    EXPECT_EQ(in_memory->misuse(), Misuse{});
  }

  Fd new_file() {
    if (in_memory != nullptr) return in_memory->create();
    std::string path = testing::TempDir() + "millrace-storage-XXXXXX";
    Fd fd(mkostemp(path.data(), O_CLOEXEC));
    EXPECT_TRUE(fd.valid());
    unlink(path.c_str());
    reader = *duplicate(fd);
    return fd;
  }
  std::string contents() {
    if (in_memory != nullptr) {
      const auto bytes = in_memory->contents(0);
      return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    const auto size = static_cast<std::size_t>(lseek(reader.get(), 0, SEEK_END));
    std::string all(size, '?');
    EXPECT_EQ(pread(reader.get(), all.data(), size, 0), static_cast<ssize_t>(size));
    return all;
  }
  void submit(Op op, Handle file, std::uint64_t offset, std::vector<iovec> data, std::uint64_t length = 0) {
    storage->submit({op, file, offset, length, std::move(data), next++});
  }
  // Waits for this many completions. Returns them by token.
  std::map<std::uint64_t, Completion> wait(std::size_t count) {
    storage->kick();
    std::map<std::uint64_t, Completion> by_token;
    std::vector<Completion> done;
    for (int rounds = 0; done.size() < count && rounds < 100'000; ++rounds) {
      if (storage->event_fd() >= 0) {
        pollfd event = {storage->event_fd(), POLLIN, 0};
        EXPECT_EQ(::poll(&event, 1, 30'000), 1) << "no event, " << done.size() << " of " << count;
        if (event.revents == 0) break;
      }
      storage->poll(done);
    }
    EXPECT_EQ(done.size(), count);
    for (const Completion& one : done) EXPECT_TRUE(by_token.emplace(one.token, one).second);
    return by_token;
  }
  Completion one(Op op, Handle file, std::uint64_t offset, std::vector<iovec> data,
                 std::uint64_t length = 0) {
    const std::uint64_t token = next;
    submit(op, file, offset, std::move(data), length);
    return wait(1)[token];
  }

  std::string kind;
  std::unique_ptr<Storage> storage;
  MemoryStorage* in_memory = nullptr;
  Fd reader;
  std::uint64_t next = 1000;
};

TEST_P(Conformance, VectoredWriteAndReadBack) {
  const Handle file = *storage->adopt(new_file(), false);
  std::string a = "first ";
  std::string b = "second";
  const Completion written = one(Op::write, file, 4, {{a.data(), a.size()}, {b.data(), b.size()}});
  EXPECT_TRUE(written.status.ok());
  EXPECT_EQ(written.bytes, 12U);
  EXPECT_EQ(contents(), std::string(4, '\0') + "first second");
  std::string into(6, '-');
  const Completion read = one(Op::read, file, 10, {{into.data(), into.size()}});
  EXPECT_TRUE(read.status.ok());
  EXPECT_EQ(into, "second");
  storage->release(file);
}

TEST_P(Conformance, ACloseIsAnsweredAndTheFileStaysUsable) {
  const Handle file = *storage->adopt(new_file(), false);
  std::string data = "before", more = "behind";
  EXPECT_TRUE(one(Op::write, file, 0, {{data.data(), data.size()}}).status.ok());
  EXPECT_TRUE(one(Op::close, file, 0, {}).status.ok());
  EXPECT_TRUE(one(Op::write, file, 6, {{more.data(), more.size()}}).status.ok());
  EXPECT_EQ(contents(), data + more);
  storage->release(file);
}

TEST_P(Conformance, AResizeIsARequest) {
  const Handle file = *storage->adopt(new_file(), false);
  std::string data = "longer than this";
  EXPECT_TRUE(one(Op::write, file, 0, {{data.data(), data.size()}}).status.ok());
  EXPECT_TRUE(one(Op::resize, file, 0, {}, 6).status.ok());
  EXPECT_EQ(contents(), "longer");
  EXPECT_EQ(*storage->size(file), 6U);
  EXPECT_TRUE(one(Op::resize, file, 0, {}, 8).status.ok());
  EXPECT_EQ(contents(), std::string("longer\0\0", 8));
  storage->release(file);
}

TEST_P(Conformance, ACallIsCarriedOutOnceAndTellsItsStatus) {
  int calls = 0;
  for (const Status status : {Status(), Status::from_errno(ENOSPC)}) {
    Request request;
    request.op = Op::call;
    request.token = next++;
    request.act = [&calls, status] { return ++calls, status; };
    storage->submit(std::move(request));
    EXPECT_EQ(calls, status.ok() ? 0 : 1) << "not by the caller";
    EXPECT_EQ(wait(1)[next - 1].status.error(), status.error());
  }
  EXPECT_EQ(calls, 2);
}

TEST_P(Conformance, GapsOfAWriteStayAsTheyAre) {
  const Handle file = *storage->adopt(new_file(), false);
  std::string old = "................";
  one(Op::write, file, 0, {{old.data(), old.size()}});
  std::string data = "abcdef";
  const Completion written =
      one(Op::write, file, 1,
          {{data.data(), 2}, {nullptr, 3}, {data.data() + 2, 1}, {nullptr, 1}, {data.data() + 3, 3}});
  EXPECT_TRUE(written.status.ok());
  EXPECT_EQ(written.bytes, 6U);
  EXPECT_EQ(contents(), ".ab...c.def.....");
  storage->release(file);
}

TEST_P(Conformance, ReadEndsAtEndOfFile) {
  const Handle file = *storage->adopt(new_file(), false);
  std::string data = "0123456789";
  one(Op::write, file, 0, {{data.data(), data.size()}});
  std::string into(10, '-');
  EXPECT_EQ(one(Op::read, file, 7, {{into.data(), 5}, {into.data() + 5, 5}}).bytes, 3U);
  EXPECT_EQ(into, "789-------");
  EXPECT_EQ(one(Op::read, file, 50, {{into.data(), 5}}).bytes, 0U);
  storage->release(file);
}

TEST_P(Conformance, MoreBuffersThanOneCallTakes) {
  const Handle file = *storage->adopt(new_file(), false);
  std::string data(6000, ' ');
  std::string expected;
  std::vector<iovec> parts;
  for (std::size_t i = 0; i < 3000; ++i) {
    data[2 * i] = static_cast<char>('a' + i % 26);
    expected += data[2 * i];
    parts.push_back({&data[2 * i], 1});
  }
  EXPECT_EQ(one(Op::write, file, 0, parts).bytes, 3000U);
  EXPECT_EQ(contents(), expected);
  storage->release(file);
}

TEST_P(Conformance, ManyMoreRequestsThanTheQueueHolds) {
  const Handle file = *storage->adopt(new_file(), false);
  std::vector<std::string> blocks;
  for (int i = 0; i < 500; ++i) blocks.push_back(std::string(1000, static_cast<char>('a' + i % 26)));
  std::string expected;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    submit(Op::write, file, i * 1000, {{blocks[i].data(), 1000}});
    expected += blocks[i];
  }
  for (const auto& [token, done] : wait(500)) EXPECT_TRUE(done.status.ok());
  EXPECT_EQ(contents(), expected);
  storage->release(file);
}

TEST_P(Conformance, WritebackAndDatasyncSucceed) {
  const Handle file = *storage->adopt(new_file(), false);
  std::string data(100'000, 'x');
  one(Op::write, file, 0, {{data.data(), data.size()}});
  EXPECT_TRUE(one(Op::writeback, file, 0, {}, 65'536).status.ok());
  EXPECT_TRUE(one(Op::writeback, file, 1 << 30, {}, 65'536).status.ok()) << "a hint is never an error";
  EXPECT_TRUE(one(Op::datasync, file, 0, {}).status.ok());
  storage->release(file);
}

TEST_P(Conformance, EmptyWriteCompletes) {
  const Handle file = *storage->adopt(new_file(), false);
  const Completion done = one(Op::write, file, 0, {});
  EXPECT_TRUE(done.status.ok());
  EXPECT_EQ(done.bytes, 0U);
  storage->release(file);
}

TEST_P(Conformance, DirectHandleWritesTheSameFile) {
  Fd fd = new_file();
  Fd twin = *duplicate(fd);
  const Handle file = *storage->adopt(std::move(fd), false);
  const Handle direct = *storage->adopt(std::move(twin), true);
  auto* const memory = static_cast<char*>(std::aligned_alloc(4096, 65'536));
  std::memset(memory, 'd', 65'536);
  std::string head(4096, 'h');
  EXPECT_TRUE(one(Op::write, file, 0, {{head.data(), head.size()}}).status.ok());
  EXPECT_TRUE(one(Op::write, direct, 4096, {{memory, 65'536}}).status.ok());
  EXPECT_EQ(contents(), head + std::string(65'536, 'd'));
  storage->release(file);
  storage->release(direct);
  std::free(memory);
}

TEST_P(Conformance, UnknownAndReleasedHandlesFail) {
  if (in_memory != nullptr) GTEST_SKIP() << "counted as misuse there, see memory_storage_test.cpp";
  const Handle file = *storage->adopt(new_file(), false);
  storage->release(file);
  std::string data = "x";
  EXPECT_FALSE(one(Op::write, file, 0, {{data.data(), 1}}).status.ok());
  EXPECT_FALSE(one(Op::write, 77, 0, {{data.data(), 1}}).status.ok());
  EXPECT_FALSE(storage->adopt(Fd(), false).ok());
}

TEST_P(Conformance, FullDeviceIsNoSpace) {
  if (in_memory != nullptr) GTEST_SKIP() << "has capacity_bytes for that";
  const Handle file = *storage->adopt(Fd(open("/dev/full", O_WRONLY | O_CLOEXEC)), false);
  std::string data = "x";
  EXPECT_EQ(one(Op::write, file, 0, {{data.data(), 1}}).status.code(), Code::no_space);
  storage->release(file);
}

TEST_P(Conformance, EventIsQuietWhenThereIsNothing) {
  if (storage->event_fd() < 0) GTEST_SKIP() << "no event descriptor";
  const Handle file = *storage->adopt(new_file(), false);
  std::string data = "x";
  one(Op::write, file, 0, {{data.data(), 1}});
  std::vector<Completion> none;
  pollfd event = {storage->event_fd(), POLLIN, 0};
  // A late signal of the event may come once. poll() takes it.
  for (int i = 0; i < 3 && ::poll(&event, 1, 20) == 1; ++i) storage->poll(none);
  EXPECT_EQ(::poll(&event, 1, 20), 0);
  EXPECT_TRUE(none.empty());
  storage->release(file);
}

// After the storage is destroyed, the caller may use the memory again. The file has all bytes of a request
// as they were at submit(), or none.
TEST_P(Conformance, EndsWellWithRequestsInFlight) {
  if (in_memory != nullptr) GTEST_SKIP() << "its files go with it";
  const Handle file = *storage->adopt(new_file(), false);
  std::vector<std::string> blocks(100, std::string(10'000, 'x'));
  for (std::size_t i = 0; i < blocks.size(); ++i)
    submit(Op::write, file, i * 10'000, {{blocks[i].data(), 10'000}});
  storage->kick();
  storage.reset();
  for (std::string& block : blocks) std::memset(block.data(), 'y', block.size());
  std::string found = contents();
  found.resize(blocks.size() * 10'000);
  std::size_t written = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string block = found.substr(i * 10'000, 10'000);
    written += block[0] == 'x' ? 1 : 0;
    EXPECT_TRUE(block == std::string(10'000, 'x') || block == std::string(10'000, '\0')) << "block " << i;
  }
  EXPECT_GT(written, 0U) << "nothing was in flight";
}

INSTANTIATE_TEST_SUITE_P(All, Conformance, testing::Values("memory", "threads", "io_uring"),
                         [](const auto& one) { return std::string(one.param); });

TEST(Factory, SaysWhyThreadsAreUsed) {
  const Result<Chosen> chosen = make_storage(SinkMode::automatic);
  ASSERT_TRUE(chosen.ok());
  EXPECT_STREQ(chosen->name, "threads");
  EXPECT_FALSE(chosen->reason.empty());
}

TEST(Factory, UnusableRingHasAReason) {
  const Availability ring = io_uring_availability();
  EXPECT_EQ(ring.usable, ring.reason.empty()) << ring.reason;
}

}  // namespace
}  // namespace millrace::io
