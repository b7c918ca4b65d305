// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace millrace::transport {

namespace {

using io::v4_prefix;
constexpr int accept_queue = 4096;

Status network_status(int error) {
  switch (error) {
    case ECONNREFUSED:
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE:
    case ETIMEDOUT:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETDOWN:
    case ENETUNREACH:
    case ENETRESET:
    case ENOTCONN:
      return {Code::lost_peer, error};
    default:
      return Status::from_errno(error);
  }
}

// An address in the form that system calls take.
struct SystemAddress {
  union {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
    sockaddr_storage storage;
  };
  socklen_t size = sizeof storage;

  SystemAddress() : storage{} {}
  explicit SystemAddress(const TcpAddress& address) : storage{} {
    if (address.is_v4()) {
      v4.sin_family = AF_INET;
      v4.sin_port = htons(address.port);
      std::memcpy(&v4.sin_addr, address.ip.data() + v4_prefix.size(), sizeof v4.sin_addr);
      size = sizeof v4;
    } else {
      v6.sin6_family = AF_INET6;
      v6.sin6_port = htons(address.port);
      std::memcpy(&v6.sin6_addr, address.ip.data(), sizeof v6.sin6_addr);
      size = sizeof v6;
    }
  }
};

TcpAddress from_v4(const in_addr& ip, std::uint16_t port) {
  TcpAddress address;
  std::copy(v4_prefix.begin(), v4_prefix.end(), address.ip.begin());
  std::memcpy(address.ip.data() + v4_prefix.size(), &ip, sizeof ip);
  address.port = port;
  return address;
}

TcpAddress from_v6(const in6_addr& ip, std::uint16_t port) {
  TcpAddress address;
  std::memcpy(address.ip.data(), &ip, sizeof ip);
  address.port = port;
  return address;
}

Result<TcpAddress> from_system(const SystemAddress& address) {
  if (address.any.sa_family == AF_INET) return from_v4(address.v4.sin_addr, ntohs(address.v4.sin_port));
  if (address.any.sa_family == AF_INET6) return from_v6(address.v6.sin6_addr, ntohs(address.v6.sin6_port));
  return Code::unsupported;
}

Result<Fd> make_socket(const TcpAddress& address) {
  Fd socket(::socket(address.is_v4() ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return network_status(errno);
  return socket;
}

bool set_option(int socket, int level, int name, int value) {
  return ::setsockopt(socket, level, name, &value, sizeof value) == 0;
}

Status listen_on(int socket, const TcpAddress& address) {
  const SystemAddress name(address);
  if (::bind(socket, &name.any, name.size) != 0 || ::listen(socket, accept_queue) != 0)
    return network_status(errno);
  return {};
}

// Converts the result of send or recv, except EINTR.
Result<StreamTransfer> outcome(ssize_t moved) {
  if (moved >= 0) return StreamTransfer{static_cast<std::size_t>(moved), false, false};
  if (errno == EAGAIN || errno == EWOULDBLOCK) return StreamTransfer{0, true, false};
  return network_status(errno);
}

}  // namespace

Result<TcpAddress> parse_address(const std::string& ip, std::uint16_t port) {
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, ip.c_str(), &v4) == 1) return from_v4(v4, port);
  if (::inet_pton(AF_INET6, ip.c_str(), &v6) == 1) return from_v6(v6, port);
  return Code::invalid;
}

std::string to_text(const TcpAddress& address) {
  char text[INET6_ADDRSTRLEN] = {};
  const std::string port = ":" + std::to_string(address.port);
  if (address.is_v4()) {
    ::inet_ntop(AF_INET, address.ip.data() + v4_prefix.size(), text, sizeof text);
    return text + port;
  }
  ::inet_ntop(AF_INET6, address.ip.data(), text, sizeof text);
  return "[" + std::string(text) + "]" + port;
}

Result<std::vector<TcpAddress>> local_addresses(std::string_view interface) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return Status::from_errno(errno);
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owned(first, ::freeifaddrs);
  std::vector<TcpAddress> found;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
    if (interface.empty() ? (one->ifa_flags & IFF_LOOPBACK) != 0 : interface != one->ifa_name) continue;
    SystemAddress address;
    const int family = one->ifa_addr->sa_family;
    if (family == AF_INET) {
      std::memcpy(&address.v4, one->ifa_addr, sizeof address.v4);
    } else if (family == AF_INET6) {
      std::memcpy(&address.v6, one->ifa_addr, sizeof address.v6);
      if (IN6_IS_ADDR_LINKLOCAL(&address.v6.sin6_addr)) continue;
    } else {
      continue;
    }
    if (const Result<TcpAddress> told = from_system(address); told.ok()) found.push_back(*told);
  }
  if (found.empty()) return Code::not_found;
  std::stable_partition(found.begin(), found.end(), [](const TcpAddress& one) { return one.is_v4(); });
  return found;
}

Result<Fd> tcp_listen(const TcpAddress& address) {
  Result<Fd> socket = make_socket(address);
  if (!socket) return socket;
  const Status listens = listen_on(socket->get(), address);
  if (!listens.ok()) return listens;
  return socket;
}

// A host without IPv6 may lack IPv6 sockets, addresses or the loopback. A setting of the host (bindv6only)
// decides whether IPv6 sockets serve IPv4 too, so this code sets the socket's own option.
Result<Fd> tcp_listen_everywhere() {
  const TcpAddress any6{};
  Result<Fd> socket = make_socket(any6);
  if (socket.ok() && set_option(socket->get(), IPPROTO_IPV6, IPV6_V6ONLY, 0)) {
    if (listen_on(socket->get(), any6).ok()) return socket;
  }
  return tcp_listen(from_v4(in_addr{INADDR_ANY}, 0));
}

Result<TcpAddress> local_address(int socket) {
  SystemAddress name;
  if (::getsockname(socket, &name.any, &name.size) != 0) return network_status(errno);
  return from_system(name);
}

Result<TcpAddress> peer_address(int socket) {
  SystemAddress name;
  if (::getpeername(socket, &name.any, &name.size) != 0) return network_status(errno);
  return from_system(name);
}

Result<Fd> tcp_accept(int listener) {
  for (;;) {
    Fd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.valid()) return socket;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Fd();
    // An error of one waiting connection does not concern the next one.
    const Code code = network_status(errno).code();
    if (errno != EINTR && errno != EPROTO && errno != EPERM && code != Code::lost_peer)
      return Status::from_errno(errno);
  }
}

Result<Fd> tcp_connect(const TcpAddress& address) {
  Result<Fd> socket = make_socket(address);
  if (!socket) return socket;
  const SystemAddress name(address);
  // After EINTR the connect goes on in the background. A second call would fail with EALREADY.
  if (::connect(socket->get(), &name.any, name.size) != 0 && errno != EINPROGRESS && errno != EINTR)
    return network_status(errno);
  return socket;
}

Status socket_error(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  return error == 0 ? Status() : network_status(error);
}

Result<bool> finish_connect(int socket) {
  if (const Status status = socket_error(socket); !status.ok()) return status;
  const Status peer = peer_address(socket).status();
  if (peer.ok()) return true;
  return peer.error() == ENOTCONN ? Result<bool>(false) : peer;
}

Status tcp_tune(int socket, std::uint32_t bound_ms) {
  constexpr int probes = 4;
  const int bound_s = std::max(2, static_cast<int>(bound_ms / 1000));
  const bool done = set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1) &&
                    set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1) &&
                    set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, bound_s / 2) &&
                    set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, bound_s / 2 / probes)) &&
                    set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, probes);
  return done ? Status() : network_status(errno);
}

Result<StreamTransfer> tcp_receive(int socket, std::span<std::byte> to) {
  ssize_t got = 0;
  do {
    got = ::recv(socket, to.data(), to.size(), 0);
  } while (got < 0 && errno == EINTR);
  Result<StreamTransfer> result = outcome(got);
  if (got == 0 && !to.empty()) result->ended = true;
  return result;
}

Result<StreamTransfer> tcp_send(int socket, std::span<const std::byte> from) {
  ssize_t sent = 0;
  do {
    sent = ::send(socket, from.data(), from.size(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return outcome(sent);
}

}  // namespace millrace::transport
