// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include "client/session/read_window.hpp"
#include "transport/memory.hpp"

namespace millrace::client {

class Session;

// The window of a session: the agent has the memory, and lists go through the rank's ring.
class SessionWindow final : public ReadWindow {
 public:
  // The agent has mapped the memory too.
  SessionWindow(Session& session, transport::Mapping memory)
      : session_(session), memory_(std::move(memory)) {}

  std::optional<std::uint32_t> take_part() override;
  void give_back(std::uint32_t part) override;
  Result<Wanted> want(std::uint32_t file, std::uint32_t part, std::span<const std::byte> list) override;
  Status await(const Wanted& wanted) override;
  const std::byte* data(const Wanted& wanted) const override {
    return memory_.data() + wanted.part * part_bytes;
  }
  void forget(const Wanted& wanted) override;
  bool await_part() override;

 private:
  void reclaim();

  Session& session_;
  transport::Mapping memory_;
  std::mutex mutex_;
  std::array<bool, parts> taken_{};
  std::vector<Wanted> forgotten_;
};

}  // namespace millrace::client
