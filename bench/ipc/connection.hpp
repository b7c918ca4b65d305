// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace bench::ipc {

// This machine does not offer a way, or not of this width; what() has the reason.
class Unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// [errno text] after `what`.
[[noreturn]] void fail(const std::string& what);

// Two processes before they have a way: the number of this one of the two, and short messages to the other
// one.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual int index() const = 0;  // 0 or 1
  // Gives `own` and gets the other's, at most 255 bytes; both call it.
  virtual std::string exchange(const std::string& own) = 0;
  virtual std::string folder() const = 0;  // for names in the file system, the same for both
};

// One way between the two, open in both directions. Blocking; whole messages; the sender's memory is free
// when send() returns.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void send(const void* data, std::size_t size) = 0;
  virtual void receive(void* data, std::size_t size) = 0;
};

struct Method {
  std::string_view name;
  std::unique_ptr<Connection> (*open)(Peer& peer);  // both call it; throws Unavailable on both or on none
};

std::unique_ptr<Connection> open_pipe(Peer& peer);
std::unique_ptr<Connection> open_fifo(Peer& peer);
std::unique_ptr<Connection> open_unix_stream(Peer& peer);
std::unique_ptr<Connection> open_unix_datagram(Peer& peer);
std::unique_ptr<Connection> open_tcp(Peer& peer);
std::unique_ptr<Connection> open_posix_queue(Peer& peer);
std::unique_ptr<Connection> open_sysv_queue(Peer& peer);
std::unique_ptr<Connection> open_posix_memory(Peer& peer);
std::unique_ptr<Connection> open_sysv_memory(Peer& peer);
std::unique_ptr<Connection> open_mapped_file(Peer& peer);
std::unique_ptr<Connection> open_vm_read(Peer& peer);
std::unique_ptr<Connection> open_vm_write(Peer& peer);
std::unique_ptr<Connection> open_mpi(Peer& peer);

}  // namespace bench::ipc
