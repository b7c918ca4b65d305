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

// TCP over IPv4 and IPv6. No call blocks: callers wait with poll or epoll. Errors of the network (refused,
// reset, unreachable, timed out) are Code::lost_peer with their errno.
namespace millrace::transport {

using TcpAddress = io::NetAddress;
using io::StreamTransfer;

// Parses "10.0.0.1" or "::1". Does not look up names. Code::invalid for any other text.
Result<TcpAddress> parse_address(const std::string& ip, std::uint16_t port = 0);
// Makes "10.0.0.1:4711" or "[::1]:4711".
std::string to_text(const TcpAddress& address);

// The addresses at which other hosts reach this host, IPv4 first, with port 0. They are of all interfaces
// that are up and not loopback, or of the interface named `interface`. Code::not_found if there is none.
Result<std::vector<TcpAddress>> local_addresses(std::string_view interface = {});

// If the port is 0, the system chooses one, which local_address() returns. An address of zeros means all
// interfaces.
Result<Fd> tcp_listen(const TcpAddress& address);
// The same on all interfaces, for IPv6 and IPv4, or for IPv4 only if this host has no IPv6.
Result<Fd> tcp_listen_everywhere();
Result<TcpAddress> local_address(int socket);
Result<TcpAddress> peer_address(int socket);

// Returns the next waiting connection, or an invalid Fd if there is none.
Result<Fd> tcp_accept(int listener);

// Starts to connect. When the socket is writable, finish_connect() returns the result: true if connected,
// false if not yet.
Result<Fd> tcp_connect(const TcpAddress& address);
Result<bool> finish_connect(int socket);
// The socket's error since the last call.
Status socket_error(int socket);

// Makes the system send small batches at once, and probe an idle connection, so that a lost host is noticed
// within about `bound_ms`. Does not use TCP_USER_TIMEOUT, because Linux also counts the time in which a
// living peer does not read. That would end links to a peer that waits for its disk. Pings detect silence
// (link_io.hpp).
Status tcp_tune(int socket, std::uint32_t bound_ms);

Result<StreamTransfer> tcp_receive(int socket, std::span<std::byte> to);
Result<StreamTransfer> tcp_send(int socket, std::span<const std::byte> from);

}  // namespace millrace::transport
