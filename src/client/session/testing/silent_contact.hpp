// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include "client/session/contact.hpp"

namespace millrace::client::testing {

// The contact with an agent that never answers; the test decides whether the agent has hung up.
class SilentContact : public Contact {
 public:
  explicit SilentContact(std::function<bool()> has_hung_up) : has_hung_up_(std::move(has_hung_up)) {}
  std::uint64_t now_ns() const override { return 1; }
  void wait_while(const std::atomic<std::uint32_t>&, std::uint32_t, std::uint32_t) override {}
  void pause(std::uint32_t) override {}
  bool hung_up() override { return has_hung_up_(); }
  void wake() override {}
  Status send(std::span<const std::byte>, std::initializer_list<int>) override { return Code::lost_agent; }
  bool wait_answer(std::uint32_t) override { return true; }
  Result<std::size_t> receive(std::span<std::byte>) override { return std::size_t{0}; }
  void hang_up() override {}
  void say(const std::string&) override {}

 private:
  std::function<bool()> has_hung_up_;
};

}  // namespace millrace::client::testing
