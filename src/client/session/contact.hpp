// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "base/result.hpp"

namespace millrace::client {

// The seam between a session and the system: time, waits, and the messages to the agent beside shared memory.
// A record that fits into the ring while the agent is awake needs no wait and no message. Implementations:
// socket_contact.hpp (futexes, an eventfd, a socket), sim/seat.hpp (virtual time). Any thread may call time,
// waits and hung_up() at any time; the other calls need the session's lock.
class Contact {
 public:
  virtual ~Contact() = default;

  // Monotonic.
  virtual std::uint64_t now_ns() const = 0;
  // Sleeps while `word` is `expected`, at most `bound_ms`. May return early.
  virtual void wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                          std::uint32_t bound_ms) = 0;
  virtual void pause(std::uint32_t for_ms) = 0;
  // True if the agent has closed its end of the connection.
  virtual bool hung_up() = 0;

  // Wakes the sleeping agent.
  virtual void wake() = 0;
  // Sends a message with descriptors to the agent. The caller still owns the descriptors.
  virtual Status send(std::span<const std::byte> message, std::initializer_list<int> descriptors) = 0;
  // Waits for the agent's answer. False: there was no answer within `bound_ms`.
  virtual bool wait_answer(std::uint32_t bound_ms) = 0;
  // Receives the agent's answer and returns its size; 0: the agent has gone.
  virtual Result<std::size_t> receive(std::span<std::byte> answer) = 0;
  // The agent has died. Removes what it could not remove itself.
  virtual void clear_away() {}
  // Closes this end of the connection.
  virtual void hang_up() = 0;

  // Prints a line for the user on stderr.
  virtual void say(const std::string& line) = 0;
  // False: say() drops the line.
  virtual bool speaks() const { return true; }
};

}  // namespace millrace::client
