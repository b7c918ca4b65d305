// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/channel/wire.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace millrace::staging::channel {

namespace {

constexpr Status gone{Code::io, ESRCH};

Status put_all(int socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return gone;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return {};
}

Status get_all(int socket, std::span<std::byte> bytes, int timeout_ms) {
  while (!bytes.empty()) {
    pollfd one{socket, POLLIN, 0};
    const int ready = timeout_ms < 0 ? 1 : ::poll(&one, 1, timeout_ms);
    if (ready == 0) return {Code::timeout, ETIMEDOUT};
    if (ready < 0 && errno == EINTR) continue;
    const ssize_t got = recv(socket, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return gone;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

}  // namespace

Status put(int socket, const Head& head, std::span<const std::byte> body) {
  const Status status = put_all(socket, std::as_bytes(std::span(&head, 1)));
  return status.ok() ? put_all(socket, body) : status;
}

Status get(int socket, Head& head, std::vector<std::byte>& body, int timeout_ms) {
  if (const Status status = get_all(socket, std::as_writable_bytes(std::span(&head, 1)), timeout_ms);
      !status.ok())
    return status;
  if (head.bytes > body_max + name_max) return Code::corrupt;
  body.resize(head.bytes);
  return get_all(socket, body, timeout_ms);
}

}  // namespace millrace::staging::channel
