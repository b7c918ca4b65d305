// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <iterator>

namespace millrace::transport {
namespace {

bool wait_for(int socket, short events, int timeout_ms = 10000) {
  pollfd entry{socket, events, 0};
  return ::poll(&entry, 1, timeout_ms) > 0;
}

TcpAddress loopback(const char* ip = "127.0.0.1") { return *parse_address(ip); }

// Sets a seccomp filter that forbids IPv6 sockets in this process, as container runtimes do.
void refuse_ipv6_sockets() {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(steps)), steps};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    std::_Exit(1);
}

struct Connection {
  Fd client;
  Fd server;
};

Connection connect_pair(const TcpAddress& to) {
  Result<Fd> listener = tcp_listen(to);
  EXPECT_TRUE(listener.ok()) << listener.status().describe();
  const Result<TcpAddress> where = local_address(listener->get());
  EXPECT_TRUE(where.ok());
  EXPECT_FALSE(tcp_accept(listener->get())->valid()) << "nobody has come yet";
  Result<Fd> client = tcp_connect(*where);
  EXPECT_TRUE(client.ok());
  EXPECT_TRUE(wait_for(listener->get(), POLLIN));
  Result<Fd> server = tcp_accept(listener->get());
  EXPECT_TRUE(server.ok() && server->valid());
  EXPECT_TRUE(wait_for(client->get(), POLLOUT));
  EXPECT_TRUE(*finish_connect(client->get()));
  EXPECT_EQ(*peer_address(client->get()), *where);
  EXPECT_EQ(*peer_address(server->get()), *local_address(client->get()));
  return {*std::move(client), *std::move(server)};
}

void carry_a_message(const TcpAddress& to) {
  const Connection pair = connect_pair(to);
  std::byte in[8] = {};
  EXPECT_TRUE(tcp_receive(pair.server.get(), in)->blocked);
  const std::byte out[3] = {std::byte{1}, std::byte{2}, std::byte{3}};
  EXPECT_EQ(tcp_send(pair.client.get(), out)->bytes, 3u);
  ASSERT_TRUE(wait_for(pair.server.get(), POLLIN));
  EXPECT_EQ(tcp_receive(pair.server.get(), in)->bytes, 3u);
  EXPECT_EQ(in[2], std::byte{3});
}

TEST(Tcp, AddressesAreReadAndWritten) {
  EXPECT_EQ(to_text(*parse_address("10.1.2.3", 4711)), "10.1.2.3:4711");
  EXPECT_EQ(to_text(*parse_address("fd00::1", 80)), "[fd00::1]:80");
  EXPECT_TRUE(parse_address("10.1.2.3")->is_v4());
  EXPECT_FALSE(parse_address("fd00::1")->is_v4());
  for (const char* wrong : {"", "localhost", "10.1.2", "10.1.2.3:80", "[::1]"})
    EXPECT_EQ(parse_address(wrong).status().code(), Code::invalid) << wrong;
}

TEST(Tcp, AnInterfaceTellsItsAddresses) {
  const Result<std::vector<TcpAddress>> own = local_addresses("lo");
  ASSERT_TRUE(own.ok()) << own.status().describe();
  EXPECT_NE(std::find(own->begin(), own->end(), loopback()), own->end());
  EXPECT_EQ(local_addresses("no-such-interface").status().code(), Code::not_found);
  const Result<std::vector<TcpAddress>> all = local_addresses();
  if (!all.ok()) return;  // a host without a network
  EXPECT_EQ(std::find(all->begin(), all->end(), loopback()), all->end());
}

TEST(Tcp, CarriesBytesOverVersionFour) { carry_a_message(loopback()); }

TEST(Tcp, CarriesBytesOverVersionSix) {
  if (!tcp_listen(loopback("::1")).ok()) GTEST_SKIP() << "this host has no IPv6";
  carry_a_message(loopback("::1"));
}

// On a host started with ipv6.disable=1, no IPv6 socket can be made.
TEST(Tcp, AHostWithoutIpv6ListensByIpv4) {
  EXPECT_EXIT(
      {
        refuse_ipv6_sockets();
        if (::socket(AF_INET6, SOCK_STREAM, 0) >= 0 || errno != EAFNOSUPPORT) std::_Exit(2);
        Result<Fd> listener = tcp_listen_everywhere();
        if (!listener.ok()) std::_Exit(3);
        TcpAddress where = loopback();
        where.port = local_address(listener->get())->port;
        Result<Fd> client = tcp_connect(where);
        if (!client.ok() || !wait_for(listener->get(), POLLIN)) std::_Exit(4);
        const Result<Fd> server = tcp_accept(listener->get());
        std::_Exit(server.ok() && server->valid() ? 0 : 5);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(Tcp, ListensEverywhereByIpv4Too) {
  const Result<Fd> listener = tcp_listen_everywhere();
  ASSERT_TRUE(listener.ok()) << listener.status().describe();
  TcpAddress where = loopback();
  where.port = local_address(listener->get())->port;
  const Result<Fd> client = tcp_connect(where);
  ASSERT_TRUE(client.ok());
  EXPECT_TRUE(wait_for(listener->get(), POLLIN));
}

TEST(Tcp, ARefusedConnectionIsALostPeer) {
  TcpAddress nobody;
  {
    const Result<Fd> listener = tcp_listen(loopback());
    nobody = *local_address(listener->get());
  }
  const Result<Fd> client = tcp_connect(nobody);
  Status status = client.status();
  if (client.ok()) {
    ASSERT_TRUE(wait_for(client->get(), POLLOUT));
    status = finish_connect(client->get()).status();
  }
  EXPECT_EQ(status, Status(Code::lost_peer, ECONNREFUSED));
}

TEST(Tcp, SaysThatThePeerHasClosed) {
  Connection pair = connect_pair(loopback());
  pair.client.reset();
  ASSERT_TRUE(wait_for(pair.server.get(), POLLIN));
  std::byte in[8];
  const Result<StreamTransfer> got = tcp_receive(pair.server.get(), in);
  ASSERT_TRUE(got.ok());
  EXPECT_TRUE(got->ended);
}

// TCP_USER_TIMEOUT would end this connection, although the peer is alive and only busy.
TEST(Tcp, APeerThatDoesNotReadForLongIsNotLost) {
  const Connection pair = connect_pair(loopback());
  ASSERT_TRUE(tcp_tune(pair.client.get(), 500).ok());
  const std::vector<std::byte> some(1 << 16);
  while (!tcp_send(pair.client.get(), some)->blocked) {
  }
  EXPECT_FALSE(wait_for(pair.client.get(), POLLIN, 1500)) << "an error or a hang-up";
  EXPECT_TRUE(socket_error(pair.client.get()).ok());
}

}  // namespace
}  // namespace millrace::transport
