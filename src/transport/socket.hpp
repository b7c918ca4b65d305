// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>

#include "base/fd.hpp"
#include "base/result.hpp"

// UNIX sockets with names in the abstract namespace (nothing is left in a file system), on which whole
// messages travel together with descriptors.
namespace millrace::transport {

inline constexpr int max_descriptors = 2;

// A rank that has found no agent takes that as "nothing is pending" for so long. An agent therefore serves
// nobody before it has been there for twice that.
inline constexpr std::uint64_t look_again_ns = 1'000'000;
inline constexpr std::uint64_t grace_ns = 2 * look_again_ns;

// A message as received: its size and the descriptors that came with it.
struct Received {
  std::size_t size = 0;  // 0: the peer has gone
  Fd descriptors[max_descriptors];
};

// Where the agent of a job listens. `hash` is of the job's key.
std::string agent_name(std::uint64_t job_hash);

// Takes the name and listens there. Fails with errno EADDRINUSE if somebody has the name already. Whoever
// starts an agent does this first and hands the socket over, so that nobody can take the name in between.
Result<Fd> listen_at(const std::string& name);
// Of the process that a listener was handed to: peers see this process from now on. Fails for what is no
// listener.
Status take_over_listener(int listener);
// Where an agent finds the listener that it was started with.
inline constexpr int handed_listener = 3;
// Waits while the queue of the listener is full, at most `bound_ms`: errno EAGAIN then. errno ECONNREFUSED:
// nobody listens there.
Result<Fd> connect_to(const std::string& name, std::uint64_t bound_ms = 10'000);
// False: nobody listens there. Does not wait; true also where that could not be found out.
bool anybody_listens(const std::string& name);
Result<Fd> accept_from(int listener);

// True if the peer is a process of this user.
bool same_user(int socket);
// True if the other end is closed.
bool hung_up(int socket);
// Waits until something can be received; false when time is over.
bool wait_readable(int socket, std::uint32_t timeout_ms);

Status send_message(int socket, const void* data, std::size_t size, const int* descriptors, int count);
Result<Received> receive_message(int socket, void* data, std::size_t size);

template <class Message>
Status send(int socket, const Message& message, std::initializer_list<int> descriptors = {}) {
  static_assert(std::is_trivially_copyable_v<Message>);
  return send_message(socket, &message, sizeof message, descriptors.begin(),
                      static_cast<int>(descriptors.size()));
}

}  // namespace millrace::transport
