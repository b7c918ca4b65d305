// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The half of Server that talks to ranks over their sockets: coming, registering files, going.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "agent/server.hpp"
#include "transport/socket.hpp"

namespace millrace::agent {

namespace {
// A rank may take a refused connection as "no agent, so nothing is pending" for a millisecond
// (client/attach); nobody is served before twice that has passed.
constexpr std::uint64_t grace_ns = 2'000'000;
constexpr std::size_t max_ranks = 4096;

// What a rank may not write, it does not get written because another rank may.
bool writable(const Fd& target) {
  const int mode = target.valid() ? ::fcntl(target.get(), F_GETFL) : -1;
  return mode >= 0 && (mode & O_ACCMODE) != O_RDONLY;
}
}  // namespace

void Server::accept_all() {
  for (;;) {
    Result<Fd> socket = transport::accept_from(listener_.get());
    if (!socket) return;
    if (!transport::same_user(socket->get())) {
      log("refused a process of another user");
      continue;
    }
    if (connections_.size() >= max_ranks) continue;
    ChannelId id = 0;  // Core wants small numbers
    while (connections_.count(id) > 0) ++id;
    if (!watch(socket->get(), tag_first_rank + id).ok()) continue;
    connections_.emplace(id, std::make_unique<Connection>(id, *std::move(socket)));
  }
}

void Server::receive(Connection& connection) {
  transport::Register message{};  // the larger of the two that a rank may send
  Result<transport::Received> received =
      transport::receive_message(connection.socket(), &message, sizeof message);
  if (!received && received.status().error() == EAGAIN) return;
  if (!received || received->size == 0) return hang_up(connection.id());
  if (!connection.greeted()) {
    if (!greet(connection, &message, received->size, std::move(received->descriptors[0])))
      drop(connection.id(), "");
    return;
  }
  if (received->size == sizeof(transport::Meet)) {
    transport::Meet meeting{};
    std::memcpy(&meeting, &message, sizeof meeting);
    return meet(connection, meeting.version);
  }
  if (received->size != sizeof message) return drop(connection.id(), "a message of unknown size");
  message.path[sizeof message.path - 1] = 0;
  enroll(connection, message, std::move(received->descriptors[0]));
}

bool Server::greet(Connection& connection, const void* data, std::size_t size, Fd memory) {
  transport::Hello hello{};
  if (size != sizeof hello || !memory.valid()) return false;
  std::memcpy(&hello, data, sizeof hello);
  transport::Welcome welcome{transport::protocol_version, {}};
  if (hello.version != transport::protocol_version) {
    welcome.status = Code::unsupported;
    (void)transport::send(connection.socket(), welcome);
    return false;
  }
  Result<transport::Consumer> ring = transport::Consumer::attach(std::move(memory), hello.channel_bytes);
  if (!ring) {
    welcome.status = ring.status();
    (void)transport::send(connection.socket(), welcome);
    return false;
  }
  // See grace_ns: once in the life of an agent.
  const std::uint64_t age = transport::now_ns() - born_ns_;
  if (age < grace_ns) {
    const timespec rest{0, static_cast<long>(grace_ns - age)};
    ::nanosleep(&rest, nullptr);
  }
  connection.greet(*std::move(ring), hello);
  served_ = true;
  return transport::send(connection.socket(), welcome, {page_memory_.get(), wake_.get()}).ok();
}

void Server::enroll(Connection& connection, const transport::Register& registration, Fd target) {
  transport::Registered answer{leaving_ ? Code::lost_agent : Code::invalid, 0};
  const std::uint64_t record_max = registration.settings.record_max_bytes;
  const bool sane = record_max >= 4 * KiB && record_max <= 1 * MiB && (record_max & (record_max - 1)) == 0 &&
                    registration.settings.sort_buffer_bytes >= 1 * MiB &&
                    registration.settings.sort_buffer_bytes <= 1024 * GiB &&
                    (registration.reads_only != 0 || writable(target));
  struct stat about {};
  if (sane && !leaving_ && ::fstat(target.get(), &about) == 0) {
    Result<FileSlot> slot =
        core_.open(connection.id(), std::move(target), registration, links_.route_of(registration));
    answer.status = slot.status();
    if (slot && *slot >= transport::max_files) return drop(connection.id(), "too many files are open");
    if (slot) {
      answer.file = *slot;
      connection.allow(*slot, record_max, registration.settings.strategy == Strategy::journal,
                       registration.reads_only == 0);
      if (registration.routing.lanes > 0) links_.serve(registration, *slot, core_.file_number(*slot));
      states_->opened(*slot, transport::file_number(about.st_dev, about.st_ino), core_);
    }
  }
  if (!transport::send(connection.socket(), answer).ok()) hang_up(connection.id());
}

// The rank wants to tell agents of other nodes how they reach this one.
void Server::meet(Connection& connection, std::uint32_t version) {
  transport::Met answer{Code::unsupported, 0, 0};
  if (version == transport::protocol_version) {
    const Result<std::uint16_t> port = links_.listen();
    answer.status = port.status();
    if (port) answer.port = *port;
  }
  if (!transport::send(connection.socket(), answer).ok()) hang_up(connection.id());
}

// The rank has gone, or its socket has. What it published is still good.
void Server::hang_up(ChannelId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  if (!found->second->greeted()) return drop(id, "");
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second->socket(), nullptr);
  found->second->set_gone();
}

void Server::drop(ChannelId id, const std::string& why) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  if (!why.empty()) log("drops rank process " + std::to_string(found->second->pid()) + ": " + why);
  for (const FileSlot file : found->second->files()) states_->closed(file);
  if (found->second->greeted()) core_.abandon(id);
  const auto unanswered = [&](const PendingRequest& one) {
    if (one.channel == id && one.frame.kind == transport::Kind::close) states_->closed(one.frame.file);
    return one.channel == id;
  };
  std::erase_if(fresh_, unanswered);
  std::erase_if(waiting_, unanswered);
  std::erase_if(asked_, [&](const Asked& one) {
    if (one.channel == id && one.closes) states_->closed(one.file);
    return one.channel == id;
  });
  std::erase_if(replies_, [id](const Reply& reply) { return reply.channel == id; });
  connections_.erase(found);
  if (connections_.empty()) alone_since_ns_ = transport::now_ns();
}

}  // namespace millrace::agent
