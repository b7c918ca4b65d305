// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/fd.hpp"
#include "io/clock.hpp"
#include "io/net.hpp"

// The real network and the real clock: implementations of the interfaces in src/io.
namespace millrace::transport {

// Makes a stream of a socket from tcp_connect() or tcp_accept().
std::unique_ptr<io::Stream> tcp_stream(Fd socket);

class TcpNet final : public io::Net {
 public:
  Result<std::unique_ptr<io::Listener>> listen() override;
  Result<std::unique_ptr<io::Stream>> connect(const io::NetAddress& to) override;
};

// CLOCK_MONOTONIC.
class SystemClock final : public io::Clock {
 public:
  std::uint64_t now_ns() const override;
};

}  // namespace millrace::transport
