// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/server/reception.hpp"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "transport/socket.hpp"

namespace millrace::agent {

namespace {

constexpr std::size_t max_ranks = 4096;
constexpr std::size_t max_refused = 64;  // processes that wait to hear that there are too many
constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr std::uint32_t greet_within_s = 10;  // after a process has connected

}  // namespace

Reception::Reception(Rounds& rounds, Links& links, Epoll& epoll, Fd listener, std::uint64_t listener_tag,
                     std::uint64_t first_rank_tag, GivenFds shown, LogLine log)
    : rounds_(rounds),
      links_(links),
      epoll_(epoll),
      listener_(std::move(listener)),
      listener_tag_(listener_tag),
      first_rank_tag_(first_rank_tag),
      shown_(shown),
      log_(std::move(log)),
      born_ns_(transport::now_ns()) {
  watch_door();
}

void Reception::watch_door() {
  const bool open = door_.open(transport::now_ns());
  if (open == door_watched_) return;
  epoll_.watch(listener_.get(), open ? std::uint32_t{EPOLLIN} : 0, listener_tag_);
  door_watched_ = open;
}

std::uint64_t Reception::drop_silent(std::uint64_t now_ns) {
  if (now_ns >= looked_ns_ + second_ns) {
    looked_ns_ = now_ns;
    silent_ = rounds_.drop_silent(greet_within_s);
  }
  return silent_ ? looked_ns_ + second_ns : UINT64_MAX;
}

void Reception::receive(SenderId rank) {
  Connection* const connection = rounds_.find(rank);
  if (connection != nullptr) receive(*connection);
  take_spare();
}

void Reception::take_spare() {
  if (spare_.valid()) return;
  spare_ = spare_descriptor();
  if (spare_.valid()) door_.knows_one();
}

Result<Fd> Reception::accept() {
  take_spare();
  Result<Fd> socket = transport::accept_from(listener_.get());
  if (socket.status().code() == Code::no_memory && spare_.valid()) {
    spare_.reset();
    socket = transport::accept_from(listener_.get());
    if (!socket) take_spare();  // nobody was there
  }
  if (socket.status().code() == Code::no_memory) rounds_.refuse();
  return socket;
}

void Reception::accept_all() {
  constexpr std::uint64_t most_lines = 16;
  const std::uint64_t now_ns = transport::now_ns();
  while (door_.open(now_ns)) {
    Result<Fd> socket = accept();
    const int error = socket.status().error();
    // No descriptor is left: the next process comes in when the spare one is back, or in the next window.
    if (!spare_.valid() || (!socket && error != EAGAIN && error != ECONNABORTED)) door_.shut(now_ns);
    if (!socket) break;
    if (!transport::same_user(socket->get())) {
      door_.let_in();
      if (++refused_ <= most_lines) log_("refused a process of another user");
      continue;
    }
    if (rounds_.ranks() >= max_ranks + max_refused) {
      rounds_.refuse();
      continue;
    }
    Connection& rank = rounds_.join(*std::move(socket));
    silent_ = true;
    if (!epoll_.add(rank.socket(), first_rank_tag_ + rank.id()).ok()) rounds_.drop(rank.id(), "");
  }
  watch_door();
}

void Reception::receive(Connection& connection) {
  transport::Register message{};  // the larger of the two that a rank may send
  Result<transport::Received> received =
      transport::receive_message(connection.socket(), &message, sizeof message);
  if (!received && received.status().error() == EAGAIN) return;
  if (!received || received->size == 0) return hang_up(connection);
  if (!connection.greeted()) {
    if (!greet(connection, &message, received->size, std::move(received->descriptors[0])))
      rounds_.drop(connection.id(), "");
    return;
  }
  if (received->size == sizeof(transport::Meet)) {
    transport::Meet meeting{};
    std::memcpy(&meeting, &message, sizeof meeting);
    return meet(connection, meeting.version);
  }
  if (received->size == sizeof(transport::Window)) {
    transport::Window window{};
    std::memcpy(&window, &message, sizeof window);
    const transport::Windowed answer{
        connection.take_window(std::move(received->descriptors[0]), window.bytes)};
    if (!transport::send(connection.socket(), answer).ok()) hang_up(connection);
    return;
  }
  if (received->size != sizeof message) return rounds_.drop(connection.id(), "a message of unknown size");
  message.path[sizeof message.path - 1] = 0;
  enroll(connection, message, std::move(received->descriptors[0]));
}

bool Reception::greet(Connection& connection, const void* data, std::size_t size, Fd memory) {
  transport::Hello hello{};
  if (size != sizeof hello) return false;
  std::memcpy(&hello, data, sizeof hello);
  transport::Welcome welcome{transport::protocol_version, {}};
  if (hello.version != transport::protocol_version) {
    welcome.status = Code::unsupported;
    (void)transport::send(connection.socket(), welcome);
    return false;
  }
  // The kernel drops a descriptor for which the agent has no room.
  const bool room = memory.valid() && rounds_.ranks() <= max_ranks;
  Result<transport::Consumer> ring = room ? transport::Consumer::attach(std::move(memory), hello.ring_bytes)
                                          : Result<transport::Consumer>(Code::no_memory);
  if (!ring) {
    welcome.status = ring.status().code();  // an errno is of the process that reads it
    if (ring.status().code() == Code::no_memory) rounds_.refuse();
    (void)transport::send(connection.socket(), welcome);
    return false;
  }
  // A new agent serves no rank before grace_ns have passed: other ranks may still assume that there is none.
  const std::uint64_t age = transport::now_ns() - born_ns_;
  if (age < transport::grace_ns) {
    const timespec rest{0, static_cast<long>(transport::grace_ns - age)};
    ::nanosleep(&rest, nullptr);
  }
  connection.greet(*std::move(ring), hello);
  place_.add(hello.own, hello.job);
  served_ = true;
  return transport::send(connection.socket(), welcome, {shown_.page, shown_.wake}).ok();
}

void Reception::enroll(Connection& connection, const transport::Register& registration, Fd target) {
  const transport::Registered answer = rounds_.enroll(connection, registration, std::move(target));
  if (!transport::send(connection.socket(), answer).ok()) hang_up(connection);
}

// The rank asks for the port, which agents of other nodes need to reach this agent.
void Reception::meet(Connection& connection, std::uint32_t version) {
  transport::Met answer{Code::unsupported, 0, 0};
  if (version == transport::protocol_version) {
    const Result<std::uint16_t> port = links_.listen();
    answer.status = port.status();
    if (port) answer.port = *port;
  }
  if (!transport::send(connection.socket(), answer).ok()) hang_up(connection);
}

// The rank has gone, or its socket is broken. Its published records are still good.
void Reception::hang_up(Connection& connection) {
  if (!connection.greeted()) return rounds_.drop(connection.id(), "");
  epoll_.watch(connection.socket(), 0, 0);
  connection.set_gone();
}

}  // namespace millrace::agent
