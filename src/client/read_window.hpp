// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "transport/memory.hpp"

namespace millrace::client {

class Session;

// Memory that a rank shares with its agent, for the bytes that the rank wants to read. It has parts; each list
// of extents that is on its way has one. All files of the rank share the parts. Thread safe.
class ReadWindow {
 public:
  static constexpr std::size_t parts = 8;
  static constexpr std::uint64_t part_bytes = std::uint64_t{512} << 10;

  // Shows the memory to the agent.
  static Result<std::unique_ptr<ReadWindow>> make(Session& session);

  // A list on its way.
  struct Wanted {
    std::uint32_t request;
    std::uint32_t part;
  };
  // A free part; empty: there is none now.
  std::optional<std::uint32_t> take_part();
  void give_back(std::uint32_t part);
  // Sends a list of at most part_bytes of data (transport/want_list.hpp). The part is that of take_part().
  Result<Wanted> want(std::uint32_t file, std::uint32_t part, std::span<const std::byte> list) const;
  // Waits for the answer. If it is ok, the bytes are there until give_back().
  Status await(const Wanted& wanted) const;
  const std::byte* data(const Wanted& wanted) const { return memory_.data() + wanted.part * part_bytes; }
  // Instead of await() and give_back(): the part is free once the agent has answered.
  void forget(const Wanted& wanted);
  // Waits until a forgotten list is answered. False: there is none.
  bool await_part();

 private:
  ReadWindow(Session& session, transport::Mapping memory) : session_(session), memory_(std::move(memory)) {}
  void reclaim();

  Session& session_;
  transport::Mapping memory_;
  std::mutex mutex_;
  std::array<bool, parts> taken_{};
  std::vector<Wanted> forgotten_;
};

}  // namespace millrace::client
