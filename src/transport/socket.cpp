// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "transport/memory.hpp"

namespace millrace::transport {

namespace {

constexpr int queue_max = 1024;  // connections that wait to be accepted

struct UnixAddress {
  sockaddr_un name{};
  socklen_t size = 0;
  explicit UnixAddress(const std::string& text) {
    name.sun_family = AF_UNIX;
    const std::size_t length =
        text.size() < sizeof name.sun_path - 1 ? text.size() : sizeof name.sun_path - 1;
    std::memcpy(name.sun_path + 1, text.data(), length);  // a leading zero means the abstract namespace
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

Result<Fd> make_socket(int flags = 0, int type = SOCK_SEQPACKET) {
  Fd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC | flags, 0));
  if (!socket.valid()) return Status::from_errno(errno);
  return socket;
}

}  // namespace

std::string agent_name(std::uint64_t job_hash) {
  char text[64];
  std::snprintf(text, sizeof text, "millrace-%u-%016llx", ::getuid(),
                static_cast<unsigned long long>(job_hash));
  return text;
}

Result<Fd> take_name(const std::string& name) {
  Result<Fd> socket = make_socket(SOCK_NONBLOCK);
  if (!socket) return socket;
  const UnixAddress address(name);
  if (::bind(socket->get(), address.get(), address.size) != 0) return Status::from_errno(errno);
  return socket;
}

Status listen(const Fd& socket) {
  return ::listen(socket.get(), queue_max) == 0 ? Status() : Status::from_errno(errno);
}

Result<Fd> listen_at(const std::string& name) {
  Result<Fd> socket = take_name(name);
  if (!socket) return socket;
  const Status status = listen(*socket);
  return status.ok() ? std::move(socket) : Result<Fd>(status);
}

Result<Fd> connect_to(const std::string& name, std::uint64_t bound_ms) {
  Result<Fd> socket = make_socket();
  if (!socket) return socket;
  const UnixAddress address(name);
  // At least 1, because 0 means no bound to the kernel.
  const timeval bound{static_cast<time_t>(bound_ms / 1000),
                      static_cast<suseconds_t>(bound_ms % 1000 * 1000 + 1)};
  if (::setsockopt(socket->get(), SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound) != 0)
    return Status::from_errno(errno);
  while (::connect(socket->get(), address.get(), address.size) != 0) {
    if (errno != EINTR) return Status::from_errno(errno);
  }
  return socket;
}

bool Lookout::anybody_listens() {
  if (!socket_.valid()) {
    Result<Fd> made = make_socket(SOCK_NONBLOCK);
    if (!made) return true;
    socket_ = *std::move(made);
  }
  const UnixAddress address(name_);
  // After ECONNREFUSED, the same socket can connect again.
  if (::connect(socket_.get(), address.get(), address.size) != 0 && errno == ECONNREFUSED) return false;
  rest();
  return true;
}

Result<Fd> accept_from(int listener) {
  Fd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.valid()) return Status::from_errno(errno);
  return socket;
}

Result<Fd> hold_name(const std::string& name) {
  Result<Fd> socket = make_socket(SOCK_NONBLOCK, SOCK_DGRAM);
  if (!socket) return socket;
  const UnixAddress address(name);
  if (::bind(socket->get(), address.get(), address.size) != 0) return Status::from_errno(errno);
  return socket;
}

bool is_held(const std::string& name) {
  const Result<Fd> socket = make_socket(SOCK_NONBLOCK, SOCK_DGRAM);
  const UnixAddress address(name);
  return socket && ::connect(socket->get(), address.get(), address.size) == 0;
}

bool same_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

bool hung_up(int socket) {
  pollfd entry{socket, POLLIN | POLLRDHUP, 0};
  return ::poll(&entry, 1, 0) > 0 && (entry.revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0;
}

bool wait_readable(int socket, std::uint32_t timeout_ms) {
  const std::uint64_t until_ns = now_ns() + std::uint64_t{timeout_ms} * 1'000'000;
  std::uint64_t left_ms = timeout_ms;
  for (;;) {
    pollfd entry{socket, POLLIN, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(left_ms));
    if (ready >= 0 || errno != EINTR) return ready > 0;
    // A handler of the program ran. poll() is not begun again for it, whatever its flags are.
    const std::uint64_t at_ns = now_ns();
    left_ms = at_ns < until_ns ? (until_ns - at_ns) / 1'000'000 + 1 : 0;
  }
}

Status send_message(int socket, const void* data, std::size_t size, const int* descriptors, int count) {
  iovec body{const_cast<void*>(data), size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * max_descriptors)] = {};
  msghdr message{};
  message.msg_iov = &body;
  message.msg_iovlen = 1;
  if (count > 0) {
    const std::size_t bytes = sizeof(int) * static_cast<std::size_t>(count);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(head), descriptors, bytes);
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent < 0 ? Status::from_errno(errno) : Status();
}

Result<Received> receive_message(int socket, void* data, std::size_t size) {
  iovec body{data, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * max_descriptors)] = {};
  msghdr message{};
  message.msg_iov = &body;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return Status::from_errno(errno);
  Received received;
  received.size = static_cast<std::size_t>(got);
  int next = 0;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(head) + i * sizeof(int), sizeof descriptor);
      Fd owned(descriptor);  // unexpected descriptors are closed here
      if (next < max_descriptors) received.descriptors[next++] = std::move(owned);
    }
  }
  return received;
}

}  // namespace millrace::transport
