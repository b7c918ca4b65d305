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

// The interface between Millrace and the network: streams of bytes between hosts. No call blocks. Errors of
// the network (refused, reset, unreachable, timed out) are Code::lost_peer with their errno.
namespace millrace::io {

inline constexpr std::array<std::uint8_t, 12> v4_prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// An address and a port, in the form that agents send to each other. IPv4 addresses are mapped
// (::ffff:a.b.c.d). Link-local addresses are not possible, because they are valid on one host only.
struct NetAddress {
  std::array<std::uint8_t, 16> ip{};
  std::uint16_t port = 0;  // little endian
  std::uint16_t reserved = 0;

  bool is_v4() const { return std::equal(v4_prefix.begin(), v4_prefix.end(), ip.begin()); }
  friend bool operator==(const NetAddress&, const NetAddress&) = default;
};
static_assert(sizeof(NetAddress) == 20);

struct StreamTransfer {
  std::size_t bytes = 0;
  bool blocked = false;  // no more bytes can move now
  bool ended = false;    // the peer has closed its end
};

// One connection. The destructor closes it. Not thread safe.
class Stream {
 public:
  virtual ~Stream() = default;
  // Makes the connection send small batches at once, and notice a lost host within about `bound_ms`.
  virtual Status tune(std::uint32_t bound_ms) = 0;
  // Call it after connect(), when the stream is writable. True: connected. False: not yet.
  virtual Result<bool> finish_connect() = 0;
  // The stream's error since the last call, if there is one.
  virtual Status error() = 0;
  virtual Result<StreamTransfer> receive(std::span<std::byte> to) = 0;
  virtual Result<StreamTransfer> send(std::span<const std::byte> from) = 0;
  // The stream's number in an event loop.
  virtual int descriptor() const = 0;
  // The address of the other end; all zeros if unknown.
  virtual NetAddress peer() const = 0;
};

// A port to which other hosts connect. Not thread safe.
class Listener {
 public:
  virtual ~Listener() = default;
  // Returns the next waiting connection, or nullptr if there is none.
  virtual Result<std::unique_ptr<Stream>> accept() = 0;
  virtual std::uint16_t port() const = 0;
  virtual int descriptor() const = 0;
};

// The network, from one host. Implementations: transport/tcp_net.hpp, virtual/virtual_net.hpp.
class Net {
 public:
  virtual ~Net() = default;
  // Listens on all addresses of this host, at a port that the implementation chooses.
  virtual Result<std::unique_ptr<Listener>> listen() = 0;
  virtual Result<std::unique_ptr<Stream>> connect(const NetAddress& to) = 0;
};

}  // namespace millrace::io
