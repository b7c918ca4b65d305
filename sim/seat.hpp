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

#include "agent/core.hpp"
#include "client/contact.hpp"
#include "fiber.hpp"
#include "io/virtual/timeline.hpp"

namespace millrace::sim {

class Node;

// Where a rank sits: its program runs in a fiber and sleeps in virtual time, and its session's contact with
// the node's agent is this. The node outlives it.
class Seat final : public client::Contact {
 public:
  Seat(Node& node, io::Timeline& timeline);
  ~Seat() override;

  // The rank has joined the agent that is there, by this channel.
  void sit(agent::ChannelId channel);
  // That agent has gone, and another one is there.
  void unseat() { channel_.reset(); }

  // The program begins so much later. Once.
  void begin(std::function<void()> program, std::uint64_t after_ns);

  // --- For the program ---

  void sleep_until(std::uint64_t time_ns);
  // Until rouse_after().
  void sleep();
  // The rank has gone with its host: it waits for nothing any more, and is to return.
  bool gone() const { return gone_; }

  // --- From outside ---

  // It goes on then at the latest, wherever it sleeps.
  void rouse_after(std::uint64_t span_ns);
  // The agent that the rank has joined is there, and knows it.
  bool serves();
  // The host goes, and so does the program.
  void vanish();
  // The node's clock has jumped: waits in a session are over.
  void jumped();
  // The agent has had a round: futexes wake who waits for a word that has changed.
  void look();

  // --- client::Contact ---

  std::uint64_t now_ns() const override;
  void wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                  std::uint32_t bound_ms) override;
  void pause(std::uint32_t for_ms) override;
  bool hung_up() override;
  void wake() override;
  Status send(std::span<const std::byte> message, std::initializer_list<int> descriptors) override;
  bool wait_answer(std::uint32_t bound_ms) override;
  Result<std::size_t> receive(std::span<std::byte> answer) override;
  void hang_up() override;
  Result<std::uint64_t> size_of(const std::string& path) override;
  void say(const std::string& line) override;

 private:
  void plan(std::uint64_t time_ns);
  void go_on();
  void sleep_for(std::uint64_t span_ns);

  Node& node_;
  std::optional<agent::ChannelId> channel_;  // of the agent that is there
  io::Timeline& timeline_;
  std::unique_ptr<Fiber> fiber_;
  std::optional<io::Timeline::Event> planned_;  // when it goes on
  const std::atomic<std::uint32_t>* word_ = nullptr;
  std::uint32_t expected_ = 0;
  std::vector<std::byte> answer_;
  bool gone_ = false;
  std::uint64_t beyond_ns_ = 0;  // who has gone waits in a time of its own, so that all waits have an end
};

}  // namespace millrace::sim
