// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The part of Server that joins its links with Core and with the ranks.
#include <sys/epoll.h>

#include <utility>

#include "agent/server.hpp"

namespace millrace::agent {

namespace {

constexpr std::uint64_t share_every_ns = 250'000'000;

}  // namespace

// Events 0: no longer.
void Server::watch_link(int socket, std::uint32_t events, std::uint64_t tag) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  if (events == 0) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket, nullptr);
  } else if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, socket, &event) != 0) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket, &event);
  }
}

// What upstream agents have passed on, in the order in which it came. Where ranks of different nodes write
// the same bytes, a flush lies between (order_between_nodes() in the front end), or there is no order.
Server::Pass Server::drain_links() {
  const std::size_t asked = fresh_.size();
  const std::uint64_t before = links_.frames();
  const Drained drained = links_.drain(core_, fresh_);
  for (const ChannelId ended : links_.take_ended()) forget(ended);
  if (drained == Drained::core_is_full) return Pass::blocked;
  return links_.frames() != before || fresh_.size() != asked ? Pass::worked : Pass::idle;
}

// What an agent has asked for before it went must not be asked for in the name of the next one.
void Server::forget(ChannelId agent) {
  const auto of_agent = [agent](const auto& one) { return one.channel == agent; };
  std::erase_if(fresh_, of_agent);
  std::erase_if(waiting_, of_agent);
  std::erase_if(asked_, of_agent);
  std::erase_if(replies_, of_agent);
}

// Progress goes up the links to the ranks that wait for it, however many agents there are in between.
void Server::share_progress(std::uint64_t now) {
  if (links_.progress() != heard_progress_) {
    heard_progress_ = links_.progress();
    ++heard_steps_;
    page_->progress.fetch_add(1, std::memory_order_relaxed);
  }
  if (now - shared_ns_ < share_every_ns) return;
  const std::uint64_t own = page_->progress.load(std::memory_order_relaxed) - heard_steps_;
  if (own == shared_progress_ && shared_heard_ == heard_progress_) return;
  shared_ns_ = now;
  shared_heard_ = heard_progress_;
  links_.show_progress(std::exchange(shared_progress_, own) != own);
}

}  // namespace millrace::agent
