// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "base/fd.hpp"
#include "client/session/contact.hpp"

namespace millrace::client {

// The contact with a real agent: a process at the other end of a UNIX socket.
class SocketContact : public Contact {
 public:
  // `wake`: the eventfd that wakes the agent.
  SocketContact(Fd socket, Fd wake)
      : socket_(std::move(socket)), wake_(std::move(wake)), kills_(killed_for_memory()) {}

  std::uint64_t now_ns() const override;
  void wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                  std::uint32_t bound_ms) override;
  void pause(std::uint32_t for_ms) override;
  bool hung_up() override;
  void wake() override;
  Status send(std::span<const std::byte> message, std::initializer_list<int> descriptors) override;
  bool wait_answer(std::uint32_t bound_ms) override;
  Result<std::size_t> receive(std::span<std::byte> answer) override;
  void clear_away() override;
  void hang_up() override;
  void say(const std::string& line) override;

 private:
  static std::uint64_t killed_for_memory();

  Fd socket_;
  Fd wake_;
  const std::uint64_t kills_;
};

}  // namespace millrace::client
