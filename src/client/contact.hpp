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
// A record that fits its ring while the agent is awake needs none of it. Implementations: socket_contact.hpp
// (futexes, an eventfd, a socket), sim/seat.hpp (virtual time). Any thread may call time, waits and hung_up()
// at any time; the other calls need the session's lock.
class Contact {
 public:
  virtual ~Contact() = default;

  // Monotonic.
  virtual std::uint64_t now_ns() const = 0;
  // Sleeps while `word` is `expected`, at most so long. May return early.
  virtual void wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                          std::uint32_t bound_ms) = 0;
  virtual void pause(std::uint32_t for_ms) = 0;
  // The agent's end is closed.
  virtual bool hung_up() = 0;

  // Wakes the agent, which sleeps.
  virtual void wake() = 0;
  // A message to the agent, with descriptors that stay the caller's.
  virtual Status send(std::span<const std::byte> message, std::initializer_list<int> descriptors) = 0;
  // Waits for its answer; false when time is over.
  virtual bool wait_answer(std::uint32_t bound_ms) = 0;
  // Returns the size of the answer; 0: the agent has gone.
  virtual Result<std::size_t> receive(std::span<std::byte> answer) = 0;
  // Closes this end.
  virtual void hang_up() = 0;

  // How long a file is.
  virtual Result<std::uint64_t> size_of(const std::string& path) = 0;
  // Tells the user of the program, on stderr.
  virtual void say(const std::string& line) = 0;
};

}  // namespace millrace::client
