// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "io/net.hpp"

// TCP over IPv4 and IPv6 without ever blocking. Callers wait with poll or epoll. Errors of the network
// (refused, reset, unreachable, timed out) are Code::lost_peer with their errno.
namespace millrace::transport {

using TcpAddress = io::Address;
using io::Transfer;

// "10.0.0.1" or "::1"; no names, no lookups. Code::invalid for anything else.
Result<TcpAddress> parse_address(const std::string& ip, std::uint16_t port = 0);
// "10.0.0.1:4711" or "[::1]:4711".
std::string to_text(const TcpAddress& address);

// Addresses of this host for other hosts, IPv4 first, with port 0: of interfaces that are up and not
// loopback, or of the one named `interface`, of any kind. Code::not_found if there is none.
Result<std::vector<TcpAddress>> local_addresses(std::string_view interface = {});

// Port 0: the system chooses one, local_address() tells which. An address of all zeros: all interfaces.
Result<Fd> tcp_listen(const TcpAddress& address);
// ... on all interfaces, by IPv6 and IPv4, or by IPv4 alone if this host has no IPv6.
Result<Fd> tcp_listen_everywhere();
Result<TcpAddress> local_address(int socket);
Result<TcpAddress> peer_address(int socket);

// The next connection that waits; an Fd that is not valid if there is none.
Result<Fd> tcp_accept(int listener);

// Starts to connect. When the socket is writable, finish_connect() gives the result: true connected, false
// not yet.
Result<Fd> tcp_connect(const TcpAddress& address);
Result<bool> finish_connect(int socket);
// The socket's error since the last call.
Status socket_error(int socket);

// Sends small batches at once, and lets the system probe an idle connection so that a host that has gone is
// noticed within about `bound_ms`. TCP_USER_TIMEOUT is not used: Linux also counts the time in which a living
// peer does not read, so it would end links whose peer only waits for its disk. Pings detect silence
// (link_io.hpp).
Status tcp_tune(int socket, std::uint32_t bound_ms);

Result<Transfer> tcp_receive(int socket, std::span<std::byte> to);
Result<Transfer> tcp_send(int socket, std::span<const std::byte> from);

}  // namespace millrace::transport
