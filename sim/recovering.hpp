// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/recovery/recovery.hpp"
#include "fiber.hpp"
#include "io/virtual/timeline.hpp"
#include "node.hpp"

namespace millrace::sim {

// The process millrace-recover on a node: the shipped recovery, in virtual time and on the virtual disk, in a
// fiber of its own.
class Recovering final : public agent::Pace {
 public:
  // The constructor begins the recovery, which calls `over` at its end.
  // `target`: only the node's journals of this file; empty: all.
  Recovering(Node& node, std::string target, std::function<void()> over = {});
  ~Recovering() override;
  Recovering(const Recovering&) = delete;
  Recovering& operator=(const Recovering&) = delete;

  bool over() const { return fiber_->ended(); }
  // The process dies, at any point.
  void kill() {
    killed_ = true;
    world_.disk.crash(process_, false);
  }
  bool killed() const { return killed_; }
  // At its end: the exit status, and the words of refusals.
  int status() const { return status_; }
  const std::string& refused() const { return refused_; }

  // --- agent::Pace ---

  std::uint64_t now_ns() const override { return world_.now_ns() + beyond_ns_; }
  void pause(std::uint32_t for_ms) override;
  void wait_for(io::Storage&) override { pause(100); }
  std::uint64_t boot() const override {
    return Pace::boot() + world_.disk.mounts() - 1 + world_.disk.boots(node_.number());
  }
  void between_steps() override { pause(1); }

 private:
  void recover();
  void go_on_after(std::uint64_t span_ns);

  Node& node_;
  World& world_;
  std::string target_;
  std::function<void()> over_;
  io::VirtualDisk::Process process_;
  std::unique_ptr<Fiber> fiber_;
  std::optional<io::Timeline::Event> planned_;  // when the process goes on
  bool killed_ = false;
  bool ends_ = false;  // the run ends: every wait ends at once
  std::uint64_t beyond_ns_ = 0;
  int status_ = 0;
  std::string refused_;
};

}  // namespace millrace::sim
