// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "client/view/typemap.hpp"
#include "client/way/read_ahead.hpp"
#include "transport/want_list.hpp"

namespace millrace::client::testing {

// How many seeds a random test has: `usual`, and ten times as many with MILLRACE_TEST_LONG.
inline unsigned seeds(unsigned usual) {
  return std::getenv("MILLRACE_TEST_LONG") != nullptr ? 10 * usual : usual;
}

// An agent in this process. Lists are answered when somebody waits for one, the last ones first; until then
// their parts of the window have other bytes.
class FakeWindow final : public ReadWindow {
 public:
  explicit FakeWindow(std::uint64_t file_bytes) : file(file_bytes), memory_(parts * part_bytes) {
    std::mt19937_64 random(file_bytes);
    std::ranges::generate(file, [&] { return static_cast<std::byte>(random()); });
  }

  std::optional<std::uint32_t> take_part() override {
    reclaim();
    for (std::uint32_t part = 0; part < usable_parts; ++part) {
      if (!std::exchange(taken_[part], true)) return part;
    }
    return std::nullopt;
  }
  void give_back(std::uint32_t part) override {
    EXPECT_TRUE(std::exchange(taken_[part], false));
    std::memset(&memory_[part * part_bytes], 0xee, part_bytes);
  }
  Result<Wanted> want(std::uint32_t, std::uint32_t part, std::span<const std::byte> list) override {
    EXPECT_TRUE(taken_[part]);
    std::vector<Extent> extents;
    EXPECT_TRUE(transport::read_want_list(list, extents));
    std::uint64_t bytes = 0;
    for (const Extent extent : extents) {
      EXPECT_LE(extent.end, file.size());
      bytes += extent.size();
    }
    EXPECT_LE(bytes, part_bytes);
    asked_bytes += bytes;
    const Wanted wanted{++last_, part};
    pending_[wanted.request] = {wanted, extents};
    return wanted;
  }
  Status await(const Wanted& wanted) override {
    if (slow_from != 0 && wanted.request >= slow_from) return Code::timeout;
    while (pending_.contains(wanted.request)) answer(std::prev(pending_.end()));
    return fails_from != 0 && wanted.request >= fails_from ? Status(Code::lost_peer) : Status();
  }
  const std::byte* data(const Wanted& wanted) const override { return &memory_[wanted.part * part_bytes]; }
  void forget(const Wanted& wanted) override { forgotten_.push_back(wanted); }
  bool await_part() override {
    if (forgotten_.empty()) return false;
    (void)await(forgotten_.front());
    reclaim();
    return true;
  }
  bool has_free_part() { return std::ranges::find(taken_, false) != taken_.end(); }
  bool all_parts_are_free() {
    while (await_part()) {
    }
    return std::ranges::find(taken_, true) == taken_.end();
  }

  std::vector<std::byte> file;
  std::uint64_t asked_bytes = 0;
  std::uint32_t fails_from = 0;
  std::uint32_t slow_from = 0;  // the answers come after the rank has given up
  std::uint32_t usable_parts = parts;

 private:
  struct Pending {
    Wanted wanted;
    std::vector<Extent> extents;
  };
  void answer(std::map<std::uint32_t, Pending>::iterator one) {
    std::byte* to = &memory_[one->second.wanted.part * part_bytes];
    for (const Extent extent : one->second.extents) {
      std::memcpy(to, &file[extent.begin], extent.size());
      to += extent.size();
    }
    pending_.erase(one);
  }
  void reclaim() {
    std::erase_if(forgotten_, [this](const Wanted& wanted) {
      if (pending_.contains(wanted.request)) return false;
      give_back(wanted.part);
      return true;
    });
  }

  std::vector<std::byte> memory_;
  std::array<bool, parts> taken_{};
  std::map<std::uint32_t, Pending> pending_;
  std::vector<Wanted> forgotten_;
  std::uint32_t last_ = 0;
};

inline std::shared_ptr<const TypeMap> bytes_map() {
  static const auto map = std::make_shared<const TypeMap>(contiguous_type(1));
  return map;
}

// A rank that reads from the file of such an agent.
class Rank {
 public:
  explicit Rank(std::uint64_t file_bytes, bool leaves_small = true)
      : window(file_bytes), ahead(window, 0, file_bytes, leaves_small) {}

  // Reads from the view and compares.
  void read(std::uint64_t position, std::uint64_t bytes) {
    std::vector<std::byte> memory(bytes, std::byte{0x55});
    const Status status = read_into(position, memory);
    if (status.code() == Code::unsupported) {  // the caller reads the file itself
      ++left;
      left_bytes += bytes;
      return;
    }
    ASSERT_TRUE(status.ok()) << status.describe();
    expect(view, position, memory);
  }
  void expect(const FileView& of, std::uint64_t position, const std::vector<std::byte>& memory) {
    Cursor at(of.filetype(), static_cast<std::int64_t>(of.displacement()), position);
    for (std::uint64_t i = 0; i < memory.size();) {
      const std::uint64_t size = std::min(at.rest(), memory.size() - i);
      ASSERT_EQ(std::memcmp(&memory[i], &window.file[static_cast<std::uint64_t>(at.offset())], size), 0)
          << "position " << position;
      i += size;
      at.advance(size);
    }
  }
  Status read_into(std::uint64_t position, std::vector<std::byte>& memory) {
    const PieceSource source(view, position, *bytes_map(), memory.data(), memory.size());
    return ahead.read(view, position, source, view.hull_of(position, memory.size()).end);
  }

  // The most bytes of wrong guesses (ADR 24): a rank guesses no more when they exceed an eighth of the bytes
  // that it has read in any way, and 64 KiB. Then as many again are on their way.
  std::uint64_t most_wrong_bytes() { return (ahead.counters().bytes + left_bytes) / 4 + 128 * KiB; }

  int left = 0;                  // reads that are left to the caller
  std::uint64_t left_bytes = 0;  // ... and their bytes
  FakeWindow window;
  FileView view{0, 1, bytes_map()};
  ReadAhead ahead;
};

// Every `stride` bytes `block` bytes of the file.
inline FileView blocks(std::uint64_t displacement, std::uint64_t block, std::uint64_t stride) {
  const TypeMap block_of = contiguous_type(block);
  return {displacement, 1,
          std::make_shared<const TypeMap>(resized(block_of, 0, static_cast<std::int64_t>(stride)))};
}

}  // namespace millrace::client::testing
