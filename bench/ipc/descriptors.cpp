// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "ipc/connection.hpp"

namespace bench::ipc {

void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

namespace {

constexpr int bound_ms = 20'000;  // for the other one to come

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// A stream of bytes: one descriptor to read, one to write, which may be the same.
class Stream final : public Connection {
 public:
  Stream(Descriptor in, Descriptor out) : in_(std::move(in)), out_(std::move(out)) {}

  void send(const void* data, std::size_t size) override {
    const int out = out_.get() >= 0 ? out_.get() : in_.get();
    for (const char* at = static_cast<const char*>(data); size > 0;) {
      const ssize_t done = ::write(out, at, size);
      if (done < 0 && errno != EINTR) fail("write");
      at += std::max<ssize_t>(done, 0);
      size -= static_cast<std::size_t>(std::max<ssize_t>(done, 0));
    }
  }
  void receive(void* data, std::size_t size) override {
    for (char* at = static_cast<char*>(data); size > 0;) {
      const ssize_t done = ::read(in_.get(), at, size);
      if (done < 0 && errno != EINTR) fail("read");
      if (done == 0) throw std::runtime_error("the other process has closed its end");
      at += std::max<ssize_t>(done, 0);
      size -= static_cast<std::size_t>(std::max<ssize_t>(done, 0));
    }
  }

 private:
  Descriptor in_, out_;
};

// Messages of at most datagram_bytes; a longer one is cut.
class Datagrams final : public Connection {
 public:
  explicit Datagrams(Descriptor socket) : socket_(std::move(socket)) {}

  void send(const void* data, std::size_t size) override {
    for (const char* at = static_cast<const char*>(data); size > 0;) {
      const std::size_t part = std::min(size, datagram_bytes);
      if (::send(socket_.get(), at, part, 0) < 0) {
        if (errno == EINTR) continue;
        fail("send");
      }
      at += part;
      size -= part;
    }
  }
  void receive(void* data, std::size_t size) override {
    for (char* at = static_cast<char*>(data); size > 0;) {
      const ssize_t done = ::recv(socket_.get(), at, std::min(size, datagram_bytes), 0);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) fail("recv");
      at += done;
      size -= static_cast<std::size_t>(done);
    }
  }

 private:
  static constexpr std::size_t datagram_bytes = 64 * 1024;
  Descriptor socket_;
};

std::string fd_path(int fd) { return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd); }

Descriptor open_path(const std::string& path, int mode) {
  Descriptor fd(::open(path.c_str(), mode | O_CLOEXEC));
  if (fd.get() < 0) fail(path);
  return fd;
}

void wait_readable(int fd) {
  pollfd ready{fd, POLLIN, 0};
  if (::poll(&ready, 1, bound_ms) != 1) throw std::runtime_error("the other process did not come");
}

// The listening side is process 0's.
template <class Address>
Descriptor connect_sockets(Peer& peer, int family, const Address& wished) {
  Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) fail("socket");
  if (peer.index() == 0) {
    Address own = wished;
    socklen_t size = sizeof own;
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) fail("bind");
    if (::listen(socket.get(), 1) != 0) fail("listen");
    if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) fail("getsockname");
    peer.exchange(std::string(reinterpret_cast<const char*>(&own), sizeof own));
    wait_readable(socket.get());
    Descriptor accepted(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (accepted.get() < 0) fail("accept");
    return accepted;
  }
  const std::string there = peer.exchange("");
  Address address{};
  std::memcpy(&address, there.data(), std::min(sizeof address, there.size()));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    fail("connect");
  return socket;
}

sockaddr_un unix_name(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof name.sun_path) throw Unavailable("the path is too long for a socket: " + path);
  std::memcpy(name.sun_path, path.data(), path.size());
  return name;
}

}  // namespace

// Each makes the pipe that it reads from; the other opens its writing end by way of /proc.
std::unique_ptr<Connection> open_pipe(Peer& peer) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail("pipe2");
  Descriptor in(ends[0]), own_out(ends[1]);
  (void)::fcntl(in.get(), F_SETPIPE_SZ, 1 << 20);  // as much as an unprivileged process may have
  const std::string there = peer.exchange(fd_path(own_out.get()));
  Descriptor out = open_path(there, O_WRONLY);
  peer.exchange("");  // until both have opened, the writing ends stay
  return std::make_unique<Stream>(std::move(in), std::move(out));
}

std::unique_ptr<Connection> open_fifo(Peer& peer) {
  const std::string base = peer.folder() + "/fifo-";
  const std::string own = base + std::to_string(peer.index());
  const std::string other = base + std::to_string(1 - peer.index());
  if (::mkfifo(own.c_str(), 0600) != 0) fail(own);
  Descriptor in = open_path(own, O_RDONLY | O_NONBLOCK);
  peer.exchange("");
  Descriptor out = open_path(other, O_WRONLY);
  peer.exchange("");
  (void)::fcntl(in.get(), F_SETFL, 0);
  (void)::fcntl(in.get(), F_SETPIPE_SZ, 1 << 20);
  ::unlink(own.c_str());
  return std::make_unique<Stream>(std::move(in), std::move(out));
}

std::unique_ptr<Connection> open_unix_stream(Peer& peer) {
  const std::string path = peer.folder() + "/stream";
  Descriptor socket = connect_sockets(peer, AF_UNIX, unix_name(path));
  ::unlink(path.c_str());
  return std::make_unique<Stream>(std::move(socket), Descriptor());
}

std::unique_ptr<Connection> open_unix_datagram(Peer& peer) {
  const std::string base = peer.folder() + "/datagram-";
  const sockaddr_un own = unix_name(base + std::to_string(peer.index()));
  const sockaddr_un other = unix_name(base + std::to_string(1 - peer.index()));
  Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) fail("bind");
  peer.exchange("");
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&other), sizeof other) != 0) fail("connect");
  peer.exchange("");
  ::unlink(own.sun_path);
  return std::make_unique<Datagrams>(std::move(socket));
}

std::unique_ptr<Connection> open_tcp(Peer& peer) {
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Descriptor socket = connect_sockets(peer, AF_INET, any);
  const int one = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return std::make_unique<Stream>(std::move(socket), Descriptor());
}

}  // namespace bench::ipc
