// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <mutex>
#include <vector>

#include "client/session/read_window.hpp"
#include "transport/memory.hpp"

namespace millrace::client {

class Session;

// A window of a session: the agent has the memory, and lists go through the rank's ring.
class SessionWindow final : public ReadWindow {
 public:
  // The agent has mapped the memory too. The parts begin at `place`.
  SessionWindow(Session& session, const transport::Mapping& memory, std::uint64_t place)
      : session_(session), memory_(memory), place_(place) {}

  std::optional<std::uint32_t> take_part() override;
  void give_back(std::uint32_t part) override;
  Result<Wanted> want(std::uint32_t file, std::uint32_t part, std::span<const std::byte> list) override;
  Status await(const Wanted& wanted) override;
  const std::byte* data(const Wanted& wanted) const override {
    return memory_.data() + place_ + wanted.part * part_bytes;
  }
  void forget(const Wanted& wanted) override;
  bool await_part() override;

 private:
  void reclaim();

  Session& session_;
  const transport::Mapping& memory_;
  const std::uint64_t place_;
  std::mutex mutex_;
  std::array<bool, parts> taken_{};
  std::vector<Wanted> forgotten_;
};

}  // namespace millrace::client
