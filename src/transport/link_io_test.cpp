// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/link_io.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <functional>

#include "transport/tcp.hpp"
#include "transport/tcp_net.hpp"
#include "transport/testing/link_rig.hpp"

namespace millrace::transport {
namespace {

using testing::Bytes;
using testing::drain;
using testing::pattern;
using testing::take;
using testing::test_introduction;
using testing::test_key;
using testing::test_lookup;
using testing::write_header;

constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr int patience_ms = 20000;

struct Sockets {
  Fd client;
  Fd server;
};

// Makes the two ends of a connection over loopback.
Sockets make_sockets() {
  const Result<Fd> listener = tcp_listen(*parse_address("127.0.0.1"));
  Result<Fd> client = tcp_connect(*local_address(listener->get()));
  pollfd entry{listener->get(), POLLIN, 0};
  EXPECT_EQ(::poll(&entry, 1, patience_ms), 1);
  return {*std::move(client), *tcp_accept(listener->get())};
}

struct Rig {
  Sockets sockets = make_sockets();
  std::uint64_t now_ns = 5 * second_ns;
  LinkIo client{
      tcp_stream(std::move(sockets.client)), Link::connecting(test_key(), test_introduction()), {}, now_ns};
  LinkIo server;

  explicit Rig(LinkLookup lookup = test_lookup())
      : server(tcp_stream(std::move(sockets.server)), Link::accepting(std::move(lookup)), {}, now_ns) {}

  // Pumps both ends on the events of poll until `done`. The links' time stands still.
  bool until(const std::function<bool()>& done) {
    for (int rounds = 0; rounds < 1'000'000; ++rounds) {
      if (done()) return true;
      LinkIo* const ends[] = {&client, &server};
      pollfd entries[2];
      for (int i = 0; i < 2; ++i) {
        const int events = (ends[i]->wants_read() ? POLLIN : 0) | (ends[i]->wants_write() ? POLLOUT : 0);
        entries[i] = {ends[i]->status().ok() ? ends[i]->socket() : -1, static_cast<short>(events), 0};
      }
      if (::poll(entries, 2, patience_ms) <= 0) return false;
      for (int i = 0; i < 2; ++i) {
        const bool broken = (entries[i].revents & (POLLERR | POLLHUP)) != 0;
        const bool readable = broken || (entries[i].revents & POLLIN) != 0;
        const bool writable = broken || (entries[i].revents & POLLOUT) != 0;
        if (readable || writable) (void)ends[i]->pump(now_ns, readable, writable);
      }
    }
    return false;
  }
  bool establish() {
    return until([&] { return client.link().established() && server.link().established(); });
  }
};

void put(Link& link, std::uint64_t number, std::size_t size) {
  const Bytes payload = pattern(size, static_cast<unsigned>(number));
  link.put(write_header(number, payload), payload);
}

// Takes the frames of the link. Checks that each record is the next after `count`.
void check(Link& link, std::uint64_t& count, std::size_t size) {
  for (const testing::Frame& frame : take(link)) {
    ASSERT_EQ(frame.header.offset, count);
    ASSERT_TRUE(frame.payload == pattern(size, static_cast<unsigned>(count)));
    ++count;
  }
}

TEST(LinkIo, CarriesMuchBothWays) {
  Rig rig;
  constexpr std::uint64_t records = 300;
  constexpr std::size_t size = 30001;
  std::uint64_t put_up = 0, put_down = 0, came_up = 0, came_down = 0;
  EXPECT_TRUE(rig.until([&] {
    while (put_up < records && rig.client.link().has_room()) put(rig.client.link(), put_up++, size);
    while (put_down < records && rig.server.link().has_room()) put(rig.server.link(), put_down++, size);
    check(rig.server.link(), came_up, size);
    check(rig.client.link(), came_down, size);
    return came_up == records && came_down == records;
  })) << rig.client.reason()
      << rig.server.reason();
}

// A peer of rig.server that sends bytes of the test.
struct RawPeer {
  Rig& rig;
  Link link = Link::connecting(test_key(), test_introduction());
  Fd socket{::dup(rig.client.socket())};

  explicit RawPeer(Rig& with) : rig(with) {
    say(drain(link));
    Bytes challenge(sizeof(LinkChallenge));
    pollfd entry{socket.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&entry, 1, patience_ms), 1);
    EXPECT_EQ(tcp_receive(socket.get(), challenge)->bytes, challenge.size());
    testing::feed(link, challenge);
  }
  void say(const Bytes& bytes) {
    EXPECT_EQ(tcp_send(socket.get(), bytes)->bytes, bytes.size());
    pollfd entry{rig.server.socket(), POLLIN, 0};
    EXPECT_EQ(::poll(&entry, 1, patience_ms), 1);
    (void)rig.server.pump(rig.now_ns, true, true);
  }
};

TEST(LinkIo, APartOfABatchIsNotDelivered) {
  Rig rig;
  RawPeer peer(rig);
  put(peer.link, 0, 100);
  peer.link.flush();
  put(peer.link, 1, 100);
  peer.link.flush();
  Bytes rest = drain(peer.link);
  rest.pop_back();
  peer.say(rest);
  ::shutdown(peer.socket.get(), SHUT_WR);
  rig.until([&] { return !rig.server.status().ok(); });
  EXPECT_EQ(rig.server.status().code(), Code::lost_peer) << rig.server.reason();
  EXPECT_EQ(take(rig.server.link()).size(), 1u) << "what came before can still be taken";
}

TEST(LinkIo, ABatchThatDoesNotEndIsSilence) {
  Rig rig;
  RawPeer peer(rig);
  peer.say(drain(peer.link));
  put(peer.link, 0, 100);
  peer.link.flush();
  Bytes batch = drain(peer.link);
  batch[2] ^= std::byte{8};  // the length grows by half a MiB
  const std::uint64_t begin_ns = rig.now_ns;
  for (; rig.now_ns < begin_ns + LinkTimes().silence_ns; rig.now_ns += second_ns) {
    peer.say(batch);  // at the rate of pings
    ASSERT_TRUE(rig.server.status().ok()) << rig.server.reason();
    EXPECT_TRUE(take(rig.server.link()).empty());
  }
  (void)rig.server.pump(rig.now_ns, false, false);
  EXPECT_EQ(rig.server.status().code(), Code::lost_peer);
}

TEST(LinkIo, PeersWithDifferentKeysRefuseEachOther) {
  Rig rig(test_lookup(0x5b));
  EXPECT_TRUE(rig.until([&] { return !rig.client.status().ok(); }));
  EXPECT_EQ(rig.client.status().code(), Code::refused);
  ::shutdown(rig.client.socket(), SHUT_RDWR);
  EXPECT_TRUE(rig.until([&] { return !rig.server.status().ok(); }));
  EXPECT_EQ(rig.server.status().code(), Code::refused) << rig.server.reason();
}

TEST(LinkIo, APeerThatNeverAnswersIsGivenUp) {
  Rig rig;
  const std::uint64_t bound = rig.now_ns + 10 * second_ns;
  EXPECT_TRUE(rig.client.pump(rig.now_ns, false, true).ok());
  EXPECT_EQ(rig.client.deadline_ns(), bound);
  EXPECT_TRUE(rig.client.pump(bound - 1, false, true).ok());
  EXPECT_EQ(rig.client.pump(bound, false, false).code(), Code::lost_peer);
  EXPECT_EQ(rig.server.pump(bound, false, false).code(), Code::lost_peer) << "nor one that never speaks";
}

TEST(LinkIo, PingsKeepAnIdleLinkAlive) {
  Rig rig;
  ASSERT_TRUE(rig.establish());
  for (int i = 0; i < 100; ++i) {
    rig.now_ns = std::min(rig.client.deadline_ns(), rig.server.deadline_ns());
    (void)rig.client.pump(rig.now_ns, false, false);
    (void)rig.server.pump(rig.now_ns, false, false);
    for (LinkIo* end : {&rig.client, &rig.server}) {
      pollfd entry{end->socket(), POLLIN, 0};
      ASSERT_EQ(::poll(&entry, 1, patience_ms), 1) << "no ping";
      ASSERT_TRUE(end->pump(rig.now_ns, true, false).ok()) << end->reason();
      EXPECT_TRUE(take(end->link()).empty());
    }
  }
  EXPECT_GE(rig.now_ns, 100 * second_ns);
}

TEST(LinkIo, ASilentPeerIsLost) {
  Rig rig;
  ASSERT_TRUE(rig.establish());
  const std::uint64_t bound = rig.now_ns + LinkTimes().silence_ns;
  EXPECT_TRUE(rig.client.pump(bound - 1, false, false).ok());
  EXPECT_LE(rig.client.deadline_ns(), bound);
  EXPECT_EQ(rig.client.pump(bound, false, false).code(), Code::lost_peer);
  EXPECT_EQ(rig.client.deadline_ns(), UINT64_MAX);
}

TEST(LinkIo, AnOwnerThatWasLateListensBeforeItJudges) {
  Rig rig;
  ASSERT_TRUE(rig.establish());
  rig.server.link().put_ping();
  (void)rig.server.pump(rig.now_ns, false, true);
  pollfd entry{rig.client.socket(), POLLIN, 0};
  ASSERT_EQ(::poll(&entry, 1, patience_ms), 1);
  EXPECT_TRUE(rig.client.pump(rig.now_ns + 100 * second_ns, false, false).ok());
}

TEST(LinkIo, BackpressureHoldsTheSenderAndJudgesNobody) {
  Rig rig;
  ASSERT_TRUE(rig.establish());
  constexpr std::uint64_t records = 3000;
  constexpr std::size_t size = 20000;
  std::uint64_t sent = 0, came = 0;
  const auto stuck = [&] {
    while (sent < records && rig.client.link().has_room()) put(rig.client.link(), sent++, size);
    return !rig.server.wants_read() && !rig.client.link().has_room();
  };
  // The test takes no frames from the server's link. So its buffer fills, then the sockets', then the
  // client's backlog.
  ASSERT_TRUE(rig.until(stuck));
  EXPECT_LT(rig.client.link().backlog_bytes(), Link::max_backlog_bytes + 2 * size);
  for (int i = 0; i < 100; ++i) {
    rig.now_ns += second_ns;
    EXPECT_TRUE(rig.server.pump(rig.now_ns, true, true).ok()) << rig.server.reason();
    pollfd entry{rig.client.socket(), POLLIN, 0};
    EXPECT_EQ(::poll(&entry, 1, patience_ms), 1) << "the server pings although it is deaf";
    EXPECT_TRUE(rig.client.pump(rig.now_ns, true, false).ok()) << rig.client.reason();
    (void)take(rig.client.link());
  }
  EXPECT_TRUE(rig.until([&] {
    check(rig.server.link(), came, size);
    while (sent < records && rig.client.link().has_room()) put(rig.client.link(), sent++, size);
    return came == records;
  })) << came
      << " " << rig.server.reason() << rig.client.reason();
}

TEST(LinkIo, AResetIsNoticedWhileNothingIsRead) {
  Rig rig;
  ASSERT_TRUE(rig.establish());
  std::uint64_t sent = 0;
  ASSERT_TRUE(rig.until([&] {
    while (rig.client.link().has_room()) put(rig.client.link(), sent++, 20000);
    return !rig.server.wants_read();
  }));
  (void)rig.server.pump(rig.now_ns, true, false);
  const linger now{1, 0};
  ASSERT_EQ(::setsockopt(rig.client.socket(), SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
  { const LinkIo gone = std::move(rig.client); }
  pollfd entry{rig.server.socket(), 0, 0};
  ASSERT_EQ(::poll(&entry, 1, patience_ms), 1);
  EXPECT_EQ(rig.server.pump(rig.now_ns, true, true).code(), Code::lost_peer);
  EXPECT_FALSE(take(rig.server.link()).empty()) << "what came before can still be taken";
}

}  // namespace
}  // namespace millrace::transport
