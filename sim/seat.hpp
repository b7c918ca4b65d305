// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/core/core.hpp"
#include "client/session/contact.hpp"
#include "fiber.hpp"
#include "io/virtual/timeline.hpp"
#include "times.hpp"

namespace millrace::sim {

class Node;

// Runs the program of a rank in a fiber, and lets it sleep in virtual time. The node must outlive the seat.
// Not thread safe.
class Seat {
 public:
  Seat(Node& node, io::Timeline& timeline) : node_(node), timeline_(timeline) {}

  // Starts the program after this delay. Call it once.
  void begin(std::function<void()> program, std::uint64_t after_ns);

  // --- For the program ---

  void sleep_until(std::uint64_t time_ns);
  // Sleeps until rouse_after().
  void sleep() {
    if (!gone_) fiber_->stop();
  }
  // True if the rank has died: no call waits any more, and the program must return.
  bool gone() const { return gone_; }

  // --- From outside ---

  // The program goes on after this time at the latest, in whichever call it sleeps.
  void rouse_after(std::uint64_t span_ns) { plan(timeline_.now_ns() + span_ns); }
  // The rank dies: from now on every wait ends at once.
  void vanish();
  // The node's clock has jumped, so waits of a session end.
  void jumped();
  // Called after a round of the agent: ends a wait for a futex word if the word has changed.
  void look();

  // --- For its processes and sessions ---

  Node& node() const { return node_; }
  std::uint64_t now_ns() const;
  void wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint32_t bound_ms);
  void pause(std::uint32_t for_ms) { sleep_for(for_ms * ms); }

 private:
  void plan(std::uint64_t time_ns);
  void sleep_for(std::uint64_t span_ns);

  Node& node_;
  io::Timeline& timeline_;
  std::unique_ptr<Fiber> fiber_;
  std::optional<io::Timeline::Event> planned_;  // when the program goes on
  const std::atomic<std::uint32_t>* word_ = nullptr;
  std::uint32_t expected_ = 0;
  bool gone_ = false;
  std::uint64_t beyond_ns_ =
      0;  // after the rank's death, waits pass in a time of their own, so that all of them end
};

// A session's contact with the agent that the node had when the rank joined. A later agent of the node is not
// reached by it.
class Line final : public client::Contact {
 public:
  Line(Seat& seat, agent::SenderId sender);
  ~Line() override;

  Seat& seat() const { return seat_; }
  // Called when that agent has ended and another one starts: the session sees a hang-up.
  void cut() { sender_.reset(); }

  // --- client::Contact ---

  std::uint64_t now_ns() const override { return seat_.now_ns(); }
  void wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                  std::uint32_t bound_ms) override {
    seat_.wait_while(word, expected, bound_ms);
  }
  void pause(std::uint32_t for_ms) override { seat_.pause(for_ms); }
  bool hung_up() override;
  void wake() override;
  Status send(std::span<const std::byte> message, std::initializer_list<int> descriptors) override;
  bool wait_answer(std::uint32_t) override { return true; }  // the agent answers at once
  Result<std::size_t> receive(std::span<std::byte> answer) override;
  void hang_up() override;
  void say(const std::string& line) override;

 private:
  Seat& seat_;
  std::optional<agent::SenderId> sender_;
  std::vector<std::byte> answer_;
};

}  // namespace millrace::sim
