// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp_net.hpp"

#include <utility>

#include "transport/memory.hpp"
#include "transport/tcp.hpp"

namespace millrace::transport {

namespace {

class TcpStream final : public io::Stream {
 public:
  explicit TcpStream(Fd socket) : socket_(std::move(socket)) {}

  Status tune(std::uint32_t bound_ms) override { return tcp_tune(socket_.get(), bound_ms); }
  Result<bool> finish_connect() override { return transport::finish_connect(socket_.get()); }
  Status error() override { return socket_error(socket_.get()); }
  Result<StreamTransfer> receive(std::span<std::byte> to) override { return tcp_receive(socket_.get(), to); }
  Result<StreamTransfer> send(std::span<const std::byte> from) override {
    return tcp_send(socket_.get(), from);
  }
  int descriptor() const override { return socket_.get(); }
  io::NetAddress peer() const override {
    const Result<TcpAddress> address = peer_address(socket_.get());
    return address ? *address : io::NetAddress{};
  }

 private:
  Fd socket_;
};

class TcpListener final : public io::Listener {
 public:
  TcpListener(Fd socket, std::uint16_t port) : socket_(std::move(socket)), port_(port) {}

  Result<std::unique_ptr<io::Stream>> accept() override {
    Result<Fd> socket = tcp_accept(socket_.get());
    if (!socket) return socket.status();
    return socket->valid() ? tcp_stream(*std::move(socket)) : std::unique_ptr<io::Stream>();
  }
  std::uint16_t port() const override { return port_; }
  int descriptor() const override { return socket_.get(); }

 private:
  Fd socket_;
  std::uint16_t port_;
};

}  // namespace

std::unique_ptr<io::Stream> tcp_stream(Fd socket) { return std::make_unique<TcpStream>(std::move(socket)); }

Result<std::unique_ptr<io::Listener>> TcpNet::listen() {
  Result<Fd> socket = tcp_listen_everywhere();
  if (!socket) return socket.status();
  const Result<TcpAddress> address = local_address(socket->get());
  if (!address) return address.status();
  return std::unique_ptr<io::Listener>(std::make_unique<TcpListener>(*std::move(socket), address->port));
}

Result<std::unique_ptr<io::Stream>> TcpNet::connect(const io::NetAddress& to) {
  Result<Fd> socket = tcp_connect(to);
  if (!socket) return socket.status();
  return tcp_stream(*std::move(socket));
}

std::uint64_t SystemClock::now_ns() const { return transport::now_ns(); }

}  // namespace millrace::transport
