// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "agent/recovery.hpp"
#include "fiber.hpp"
#include "io/virtual/timeline.hpp"
#include "node.hpp"

namespace millrace::sim {

// What a process does on a node before it opens a file that was open before, as client/ledgers does: while
// agents that live are bringing journals to the file it waits, and what dead ones have left the shipped
// recovery brings there, in virtual time and on the virtual disk. In a fiber of its own.
class Settling final : public agent::Pace {
 public:
  Settling(World world, std::uint32_t node, std::string journals);
  ~Settling() override;
  Settling(const Settling&) = delete;
  Settling& operator=(const Settling&) = delete;

  void begin();
  bool over() const { return fiber_->ended(); }
  // The process that recovers dies, wherever it is. Another one comes.
  void kill();
  // What is not in the file, and why; empty if all is.
  const std::string& problem() const { return problem_; }

  // --- agent::Pace ---

  std::uint64_t now_ns() const override { return world_.timeline.now_ns() + beyond_ns_; }
  void pause(std::uint32_t for_ms) override;
  void wait_for(io::Storage& storage) override;

 private:
  void settle();
  void recover();
  void sleep_for(std::uint64_t span_ns);

  World world_;
  std::uint32_t node_;
  std::string journals_;
  std::unique_ptr<Fiber> fiber_;
  std::optional<io::Timeline::Event> planned_;  // when it goes on
  std::optional<io::VirtualDisk::Process> process_;
  std::size_t unusable_ = 0;  // journals that recovery has left
  bool killed_ = false;
  bool ends_ = false;  // with the run: it waits for nothing any more
  std::uint64_t beyond_ns_ = 0;
  std::string problem_;
};

}  // namespace millrace::sim
