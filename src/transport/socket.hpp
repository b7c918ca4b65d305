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

// For this time, a rank that has found no agent assumes that no bytes are pending. So an agent serves no rank
// before it has been there for twice that time.
inline constexpr std::uint64_t look_again_ns = 1'000'000;
inline constexpr std::uint64_t grace_ns = 2 * look_again_ns;

// A message as received: its size and the descriptors that came with it.
struct Received {
  std::size_t size = 0;  // 0: the peer has gone
  Fd descriptors[max_descriptors];
};

// The socket name of a job's agent. `hash` is that of the job's key.
std::string agent_name(std::uint64_t job_hash);

// Takes the name and listens there. Fails with errno EADDRINUSE if another process has the name. A rank that
// starts an agent does this first and hands the socket over, so that no other process can take the name in
// between.
Result<Fd> listen_at(const std::string& name);
// For the process that got a listener: peers see this process from now on. Fails if the socket is not a
// listener.
Status take_over_listener(int listener);
// The descriptor of the listener that an agent is started with.
inline constexpr int handed_listener = 3;
// Waits while the queue of the listener is full, at most `bound_ms`; then errno EAGAIN. errno ECONNREFUSED:
// no process listens there.
Result<Fd> connect_to(const std::string& name, std::uint64_t bound_ms = 10'000);
// Looks for a listener again and again, with one system call for each look. It keeps a socket until it has
// found one. Not thread safe.
class Lookout {
 public:
  explicit Lookout(std::string name) : name_(std::move(name)) {}
  // False: no process listens there. Does not wait; true also if that could not be determined.
  bool anybody_listens();
  // Closes the socket.
  void rest() { socket_.reset(); }

 private:
  const std::string name_;
  Fd socket_;
};
Result<Fd> accept_from(int listener);

// True if the peer is a process of this user.
bool same_user(int socket);
// True if the other end is closed.
bool hung_up(int socket);
// Waits until a message can be received; false after the bound.
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
