// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/core.hpp"
#include "io/virtual/memory_storage.hpp"

// For tests: a Core over files in memory, with its own clock. A plain byte array is the oracle.
namespace millrace::agent {

inline FileSettings tiny(Strategy strategy, bool merge) {
  FileSettings settings;
  settings.strategy = strategy;
  settings.merge = merge ? 1 : 0;
  settings.sort_buffer_bytes = 1 * MiB;
  settings.record_max_bytes = 4 * KiB;
  return settings;
}

// With merging, and a buffer in which nothing has to make room.
inline FileSettings roomy(Strategy strategy) {
  FileSettings settings = tiny(strategy, true);
  settings.sort_buffer_bytes = 16 * MiB;
  return settings;
}

inline std::vector<std::byte> random_bytes(std::mt19937_64& random, std::size_t size) {
  std::vector<std::byte> data(size);
  std::ranges::generate(data, [&] { return static_cast<std::byte>(random()); });
  return data;
}

class Rig {
 public:
  explicit Rig(io::MemoryOptions options = {}, std::string journal = "/tmp")
      : storage(std::move(options)), core(storage, std::move(journal)) {}

  FileSlot open(SenderId sender, const Fd& file, const FileSettings& settings, std::uint64_t group = 1) {
    transport::Register registration{};
    registration.group = group;
    registration.settings = settings;
    std::strcpy(registration.path, "/data/file");
    auto slot = core.open(sender, Fd(::dup(file.get())), registration);
    if (!slot) std::abort();
    return *slot;
  }
  // Sender 0, the only rank of a group, opens a file that agents upstream will open too. `next`: the next
  // agent, if there is one.
  FileSlot open_fed(const Fd& file, const FileSettings& settings, std::uint32_t upstreams,
                    std::uint64_t group = 1, std::unique_ptr<Carrier> next = nullptr) {
    transport::Register registration{};
    registration.group = group;
    registration.members = 1;
    registration.settings = settings;
    std::strcpy(registration.path, "/data/file");
    Route route;
    route.lanes.push_back({std::move(next), upstreams});
    auto slot = core.open(0, Fd(::dup(file.get())), registration, std::move(route));
    if (!slot) std::abort();
    return *slot;
  }

  // Writes as a client does: waits until Core is ready, and cuts the data at record_max.
  void write(SenderId sender, FileSlot slot, std::uint64_t offset, std::span<const std::byte> data,
             std::size_t record_max = 4 * KiB) {
    while (!data.empty()) {
      const std::size_t size = std::min(record_max, data.size());
      if (!wait_ready()) std::abort();
      core.write(sender, slot, offset, data.first(size));
      if (oracle.size() < offset + size) oracle.resize(offset + size);
      std::memcpy(oracle.data() + offset, data.data(), size);
      offset += size;
      data = data.subspan(size);
    }
  }
  void fill(SenderId sender, FileSlot slot, std::uint64_t offset, std::size_t size, int value) {
    const std::vector<std::byte> data(size, static_cast<std::byte>(value));
    write(sender, slot, offset, data);
  }

  bool wait_ready() {
    for (int i = 0; i < 100000; ++i) {
      if (core.ready()) return true;
      step();
    }
    return false;
  }

  void step(std::uint64_t ns = 1000) {
    now_ns += ns;
    core.advance(now_ns);
    for (const Reply& reply : core.take_replies()) replies[{reply.sender, reply.request}] = reply.status;
    Core::News news = core.take_news();
    std::ranges::move(news.reports, std::back_inserter(reports));
    std::ranges::move(news.messages, std::back_inserter(messages));
    stuck_ledgers = !news.stuck.empty();
  }
  // False if the request is not answered within `steps` steps.
  bool await(SenderId sender, std::uint32_t request, std::uint64_t step_ns = 1'000'000, int steps = 20000) {
    for (int i = 0; i < steps; ++i) {
      if (answered(sender, request)) return true;
      step(step_ns);
    }
    return answered(sender, request);
  }
  bool answered(SenderId sender, std::uint32_t request) const { return replies.contains({sender, request}); }
  Status reply(SenderId sender, std::uint32_t request) const { return replies.at({sender, request}); }

  // Compares `extent` of the file with the oracle. Bytes beyond the end of either count as zero.
  bool same(io::MemoryStorage::File file, Extent extent = {0, UINT64_MAX}) const {
    const auto bytes = storage.contents(file);
    const auto part = [&](std::span<const std::byte> all) {
      std::vector<std::byte> cut(all.begin() + std::min<std::uint64_t>(extent.begin, all.size()),
                                 all.begin() + std::min<std::uint64_t>(extent.end, all.size()));
      while (!cut.empty() && cut.back() == std::byte{0}) cut.pop_back();
      return cut;
    };
    return part(bytes) == part(oracle);
  }

  // Core leaves nothing with the storage, whenever it ends.
  struct AfterCore {
    const io::MemoryStorage& storage;
    ~AfterCore() {
      EXPECT_EQ(storage.in_flight(), 0u);
      EXPECT_EQ(storage.handles(), 0u);
      EXPECT_EQ(storage.misuse(), io::Misuse{});
    }
  };

  io::MemoryStorage storage;
  AfterCore after_core{storage};
  Core core;
  std::uint64_t now_ns = 1;
  std::vector<std::byte> oracle;
  std::map<std::pair<SenderId, std::uint32_t>, Status> replies;
  std::vector<std::string> reports;
  std::vector<std::string> messages;
  bool stuck_ledgers = false;
};

inline constexpr std::uint64_t ms = 1'000'000;

inline transport::ClientCounters counters(std::uint64_t calls) {
  transport::ClientCounters c{};
  c.calls = calls;
  return c;
}

class CoreTest : public testing::Test {
 protected:
  void start(io::MemoryOptions options = {}) {
    rig = std::make_unique<Rig>(std::move(options));
    file = rig->storage.create();
  }
  // Makes steps of 1 ms until the answer comes. Returns their number.
  int steps_until(SenderId sender, std::uint32_t request, int most = 5000) {
    for (int i = 0; i < most; ++i) {
      if (rig->answered(sender, request)) return i;
      rig->step(ms);
    }
    return most;
  }
  void settle() {
    for (int i = 0; i < 1000 && !rig->core.idle(); ++i) rig->step(ms);
  }

  std::unique_ptr<Rig> rig;
  Fd file;
};

}  // namespace millrace::agent
