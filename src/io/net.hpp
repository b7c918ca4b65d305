// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.hpp"

// The seam between Millrace and the network: streams of bytes between hosts. No call blocks. Errors of the
// network (refused, reset, unreachable, timed out) are Code::lost_peer with their errno.
namespace millrace::io {

inline constexpr std::array<std::uint8_t, 12> v4_prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// An address and a port, as agents tell it to each other. IPv4 addresses are mapped ones (::ffff:a.b.c.d).
// Link-local addresses are not possible, because they mean something on one host only.
struct Address {
  std::array<std::uint8_t, 16> ip{};
  std::uint16_t port = 0;  // little endian
  std::uint16_t reserved = 0;

  bool is_v4() const { return std::equal(v4_prefix.begin(), v4_prefix.end(), ip.begin()); }
  friend bool operator==(const Address&, const Address&) = default;
};
static_assert(sizeof(Address) == 20);

struct Transfer {
  std::size_t bytes = 0;
  bool blocked = false;  // nothing more for now
  bool ended = false;    // the peer has closed its end
};

// One connection; the destructor closes it. Not thread safe.
class Stream {
 public:
  virtual ~Stream() = default;
  // Sends small batches at once, and notices a lost host within about `bound_ms`.
  virtual Status tune(std::uint32_t bound_ms) = 0;
  // After connect(), when the stream is writable: true connected, false not yet.
  virtual Result<bool> finish_connect() = 0;
  // The error since the last call, if there is one.
  virtual Status error() = 0;
  virtual Result<Transfer> receive(std::span<std::byte> to) = 0;
  virtual Result<Transfer> send(std::span<const std::byte> from) = 0;
  // The number by which an event loop knows it.
  virtual int descriptor() const = 0;
  // The other end; all zeros if unknown.
  virtual Address peer() const = 0;
};

// A port to which other hosts connect. Not thread safe.
class Listener {
 public:
  virtual ~Listener() = default;
  // The next waiting connection; nullptr if there is none.
  virtual Result<std::unique_ptr<Stream>> accept() = 0;
  virtual std::uint16_t port() const = 0;
  virtual int descriptor() const = 0;
};

// A host's end of the network. Implementations: transport/tcp_net.hpp, virtual/virtual_net.hpp.
class Net {
 public:
  virtual ~Net() = default;
  // Listens on all addresses of this host, at a port of its choice.
  virtual Result<std::unique_ptr<Listener>> listen() = 0;
  virtual Result<std::unique_ptr<Stream>> connect(const Address& to) = 0;
};

}  // namespace millrace::io
