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

// UNIX sockets for whole messages with descriptors. The names are in the abstract namespace, so they leave
// nothing in a file system.
namespace millrace::transport {

inline constexpr int max_descriptors = 2;

// After a rank has found no agent, it assumes for this time that no bytes are pending. So an agent serves no
// rank until it has existed for twice this time.
inline constexpr std::uint64_t look_again_ns = 1'000'000;
inline constexpr std::uint64_t grace_ns = 2 * look_again_ns;

// A received message: its size and its descriptors.
struct Received {
  std::size_t size = 0;  // 0: the peer has closed its end
  Fd descriptors[max_descriptors];
};

// The socket name of a job's agent. `job_hash` is the hash of the job's key.
std::string agent_name(std::uint64_t job_hash);

// Takes the name, for a socket that does not listen yet. Fails with errno EADDRINUSE if another process has
// the name. A rank that starts an agent takes the name, and passes the socket to the agent. So no other
// process can take the name in between, and no rank waits for an agent that is not ready.
Result<Fd> take_name(const std::string& name);
// Lets a socket with a name listen. Peers see the credentials of this process.
Status listen(const Fd& socket);
// Both.
Result<Fd> listen_at(const std::string& name);
// A new agent finds the socket with its name at the first of these descriptors. To the second, a pipe, it
// writes one byte when its start has ended: 0 if it listens, else an errno.
inline constexpr int handed_socket = 3;
inline constexpr int handed_answer = 4;
// Connects to a listener. While the queue of the listener is full, waits up to `bound_ms`, then fails with
// errno EAGAIN. errno ECONNREFUSED: no process listens there.
Result<Fd> connect_to(const std::string& name, std::uint64_t bound_ms = 10'000);
// Looks for a listener, with one system call for each look. Keeps a socket until it has found one. Not thread
// safe.
class Lookout {
 public:
  explicit Lookout(std::string name) : name_(std::move(name)) {}
  // False if no process listens there. Also true if the look failed. Does not wait.
  bool anybody_listens();
  // Closes the socket.
  void rest() { socket_.reset(); }

 private:
  const std::string name_;
  Fd socket_;
};
Result<Fd> accept_from(int listener);

// Holds a name as long as the descriptor is open, without taking connections. Fails with errno EADDRINUSE if
// a process holds it already.
Result<Fd> hold_name(const std::string& name);
bool is_held(const std::string& name);

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
