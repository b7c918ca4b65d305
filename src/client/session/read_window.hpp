// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.hpp"

namespace millrace::client {

// Memory that a rank shares with its agent, for the bytes that the rank wants to read. It has parts; each
// list of extents that is on its way has one. All files of the rank share the parts. Implementations:
// session_window.hpp, read_ahead_test.cpp. Thread safe.
class ReadWindow {
 public:
  static constexpr std::size_t parts = 8;
  static constexpr std::uint64_t part_bytes = std::uint64_t{512} << 10;

  virtual ~ReadWindow() = default;

  // A free part; empty: there is none now.
  virtual std::optional<std::uint32_t> take_part() = 0;
  virtual void give_back(std::uint32_t part) = 0;

  // A list on its way.
  struct Wanted {
    std::uint32_t request;
    std::uint32_t part;
  };
  // Sends a list of at most part_bytes of data (transport/want_list.hpp). The part is that of take_part().
  virtual Result<Wanted> want(std::uint32_t file, std::uint32_t part, std::span<const std::byte> list) = 0;
  // Waits for the answer. If it is ok, the bytes are there until give_back().
  virtual Status await(const Wanted& wanted) = 0;
  virtual const std::byte* data(const Wanted& wanted) const = 0;
  // Instead of await() and give_back(): the part is free once the agent has answered.
  virtual void forget(const Wanted& wanted) = 0;
  // Waits until a forgotten list is answered. False: there is none.
  virtual bool await_part() = 0;
};

}  // namespace millrace::client
