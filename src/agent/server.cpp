// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/server.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "transport/socket.hpp"
#include "transport/stamp.hpp"

namespace millrace::agent {

using transport::now_ns;

namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr std::uint64_t listen_every_ns = 200'000;

// A peer has to be lost before the ranks that wait for it give up.
transport::LinkTimes link_times(std::uint64_t timeout_ms) {
  transport::LinkTimes times;
  const std::uint64_t half_ns = timeout_ms * 500'000;
  times.silence_ns = std::min(times.silence_ns, half_ns);
  times.handshake_ns = std::min(times.handshake_ns, half_ns);
  times.ping_ns = std::min(times.ping_ns, times.silence_ns / 4);
  return times;
}

}  // namespace

void append_line(const std::string& path, const std::string& line) {
  if (path.empty()) return;
  const Fd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  const std::string text = line + "\n";
  // Best effort: a report that can't be written must not hurt the data.
  if (file.valid() && ::write(file.get(), text.data(), text.size()) < 0) return;
}

Server::Server(Core& core, int storage_event_fd, ServerOptions options)
    : core_(core),
      storage_event_fd_(storage_event_fd),
      options_(std::move(options)),
      links_(
          net_, time_,
          [this](int socket, std::uint32_t events, std::uint64_t tag) { watch_link(socket, events, tag); },
          [this](const std::string& line) { log(line); }, tag_first_link, link_times(options_.timeout_ms)) {}

Server::~Server() = default;

Status Server::watch(int descriptor, std::uint64_t tag) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.u64 = tag;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0 ? Status()
                                                                           : Status::from_errno(errno);
}

Status Server::start() {
  Result<Fd> memory = transport::make_memory("millrace-agent", sizeof(transport::AgentPage));
  if (!memory) return memory.status();
  page_memory_ = *std::move(memory);
  Result<transport::Mapping> mapping = transport::map(page_memory_.get(), sizeof(transport::AgentPage));
  if (!mapping) return mapping.status();
  page_mapping_ = *std::move(mapping);
  page_ = reinterpret_cast<transport::AgentPage*>(page_mapping_.data());
  clock_ = transport::choose_stamp_clock();
  page_->stamp_clock = static_cast<std::uint32_t>(clock_);
  states_ = std::make_unique<FileStates>(*page_);
  trace_ = Trace(options_.trace_directory);
  if (trace_.on()) core_.trace();

  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  sigset_t leave;
  ::sigemptyset(&leave);
  ::sigaddset(&leave, SIGTERM);
  ::sigaddset(&leave, SIGINT);
  ::sigprocmask(SIG_BLOCK, &leave, nullptr);

  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  signals_.reset(::signalfd(-1, &leave, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!epoll_.valid() || !wake_.valid() || !signals_.valid()) return Status::from_errno(errno);
  Result<Fd> listener = transport::listen_at(options_.name);
  if (!listener) return listener.status();
  listener_ = *std::move(listener);
  born_ns_ = alone_since_ns_ = now_ns();
  for (const auto& [descriptor, tag] : {std::pair(listener_.get(), tag_listener),
                                        {wake_.get(), tag_wake},
                                        {signals_.get(), tag_signals},
                                        {storage_event_fd_, tag_storage}}) {
    if (descriptor < 0) continue;
    if (Status status = watch(descriptor, tag); !status.ok()) return status;
  }
  return {};
}

void Server::run() {
  for (;;) {
    links_.pump(now_ns());
    const Pass pass = drain_rings();
    const std::uint64_t now = now_ns();
    bool advanced = core_.advance(now);
    deliver();
    share_progress(now);
    links_.pump(now);
    advanced |= core_.pass_fetched(links_);
    if (pass == Pass::held) {
      const timespec rest{0, 100'000};
      ::nanosleep(&rest, nullptr);
    }
    if (pass == Pass::held || pass == Pass::worked || advanced) {
      if (pass != Pass::held) page_->progress.fetch_add(1, std::memory_order_relaxed);
      // However much there is to drain: who comes late must not wait for those who are here.
      if (now - listened_ns_ >= listen_every_ns) listen(0);
    } else if (may_leave(now)) {
      break;
    } else {
      sleep();
    }
  }
  trace_.flush();
  log("leaves");
}

// One pass takes from every ring what was published when the pass came to it. Requests that it meets wait
// for the end of the next one, because a ring that was visited before may have got older records since.
Server::Pass Server::drain_rings() {
  if (!pass_open_) {
    if (hold_back()) return Pass::held;
    begin_pass();
  }
  const Pass merged = std::max(merge_rings(), drain_links());
  for (const FileSlot file : damaged_) states_->damaged(file);
  damaged_.clear();
  for (const auto& [id, why] : broken_) drop(id, why);
  broken_.clear();
  if (merged == Pass::blocked) return Pass::blocked;
  pass_open_ = false;
  states_->end_drain();
  const bool worked = merged == Pass::worked || !waiting_.empty() || !fresh_.empty();
  forward_requests();
  drop_gone();
  return worked ? Pass::worked : Pass::idle;
}

// Takes records in the order of their stamps over all rings, up to the time at which the pass began. What
// was written before a record of the pass, in any ring, was published before that time, so it is in the
// snapshot too: no record overtakes one that it followed.
Server::Pass Server::merge_rings() {
  const auto later = [](const Turn& a, const Turn& b) { return a.stamp > b.stamp; };
  turns_.clear();
  for (auto& [id, connection] : connections_) {
    if (!connection->greeted() || connection->ring().empty()) continue;
    const std::uint64_t stamp = connection->next_stamp();
    if (stamp > pass_stamp_ + transport::stamp_horizon) {
      broken_.emplace_back(id, "a record from the future");
    } else if (stamp <= pass_stamp_) {
      turns_.push_back({stamp, connection.get()});
    }
  }
  if (turns_.empty()) return Pass::idle;
  std::make_heap(turns_.begin(), turns_.end(), later);
  Pass result = Pass::worked;
  while (!turns_.empty() && result == Pass::worked) {
    std::pop_heap(turns_.begin(), turns_.end(), later);
    Connection& connection = *turns_.back().connection;
    turns_.pop_back();
    const std::uint64_t until =
        turns_.empty() ? pass_stamp_ : std::min(pass_stamp_, turns_.front().stamp + transport::stamp_quantum);
    std::string why;
    const Drained drained = connection.drain(core_, until, fresh_, damaged_, why);
    if (drained == Drained::broken) {
      broken_.emplace_back(connection.id(), why);
    } else if (drained == Drained::core_is_full) {
      result = Pass::blocked;
    } else if (!connection.ring().empty()) {
      const std::uint64_t stamp = connection.next_stamp();
      if (stamp > pass_stamp_) continue;
      turns_.push_back({stamp, &connection});
      std::push_heap(turns_.begin(), turns_.end(), later);
    }
  }
  for (auto& [id, connection] : connections_) {
    if (connection->greeted()) connection->ring().release();
  }
  return result;
}

// Where ranks outnumber processors, one rank can be a whole buffer ahead of another before that gets its
// turn, and no chunk of an interleaved file is complete until then. So when much memory waits for its
// neighbours, the agent takes nothing until all rings are full, and those who wait for room leave the
// processors to those who lag. Bounded, short, and given up where nobody uses the time.
bool Server::hold_back() {
  constexpr std::uint64_t step_bytes = 48 * MiB;
  constexpr std::uint64_t longest_ns = 30'000'000;
  constexpr std::uint64_t unused_ns = 6'000'000;
  if (!waiting_.empty() || !fresh_.empty()) return holding_ = false;
  const std::uint64_t partial = core_.partial_bytes();
  if (partial < step_bytes) hold_at_ = step_bytes;
  if (partial < hold_at_) return holding_ = false;
  std::uint64_t fill = 0;
  bool all_wait = true;
  for (const auto& [id, connection] : connections_) {
    if (!connection->greeted() || connection->gone()) continue;
    fill += connection->ring().fill();
    all_wait = all_wait && (connection->ring().producer_waits() || connection->ring().has_request());
  }
  const std::uint64_t now = now_ns();
  if (!holding_) hold_since_ns_ = now;
  if (!holding_ || fill != hold_fill_) hold_moved_ns_ = now;
  hold_fill_ = fill;
  holding_ = !all_wait && now - hold_since_ns_ < longest_ns && now - hold_moved_ns_ < unused_ns;
  if (!holding_) hold_at_ = partial + step_bytes;
  return holding_;
}

void Server::begin_pass() {
  pass_open_ = true;
  waiting_.swap(fresh_);
  if (!waiting_.empty()) states_->begin_drain();
  pass_stamp_ = transport::read_stamp(clock_);
  std::vector<ChannelId> broken;
  for (auto& [id, connection] : connections_) {
    if (connection->greeted() && !connection->ring().snapshot()) broken.push_back(id);
  }
  for (const ChannelId id : broken) drop(id, "its ring has impossible numbers");
}

// Ranks that have hung up leave when their rings are empty; on a signal, all ranks do.
void Server::drop_gone() {
  std::vector<ChannelId> gone;
  for (auto& [id, connection] : connections_) {
    const bool empty = !connection->greeted() || connection->ring().fill() == 0;
    if ((connection->gone() || leaving_) && empty) gone.push_back(id);
  }
  for (const ChannelId id : gone) drop(id, "");
}

void Server::forward_requests() {
  for (const PendingRequest& request : waiting_) forward(request);
  waiting_.clear();
}

void Server::forward(const PendingRequest& request) {
  const auto& [channel, frame, counters, position] = request;
  const bool rank = connections_.contains(channel);
  if (!rank && !links_.has(channel)) return;  // abandoned meanwhile
  asked_.push_back(
      {channel, frame.request, frame.file, rank && frame.kind == transport::Kind::close, position});
  const bool whole = frame.span > UINT64_MAX - frame.offset;
  const Extent extent{frame.offset, whole ? UINT64_MAX : frame.offset + frame.span};
  switch (frame.kind) {
    case transport::Kind::flush:
      core_.flush(channel, frame.file, frame.request, extent);
      break;
    case transport::Kind::fetch:
      core_.fetch(channel, frame.file, frame.request, extent);
      break;
    case transport::Kind::arrive:
      core_.arrive(channel, frame.file, frame.request);
      break;
    case transport::Kind::sync:
      core_.sync(channel, frame.file, frame.request);
      break;
    default:
      core_.close(channel, frame.file, frame.request, counters);
  }
}

void Server::deliver() {
  states_->refresh(core_);
  for (auto& [id, connection] : connections_) connection->give_back(core_);
  for (const Reply& reply : core_.take_replies()) replies_.push_back(reply);
  std::vector<Reply> early;
  for (const Reply& reply : replies_) {
    const auto asked = std::find_if(asked_.begin(), asked_.end(), [&](const Asked& one) {
      return one.channel == reply.channel && one.request == reply.request;
    });
    Status status = reply.status;
    const auto found = connections_.find(reply.channel);
    if (asked != asked_.end()) {
      // What the request covers must not come back from the ring after a crash.
      if (found != connections_.end() && found->second->keeps_before(asked->position)) {
        early.push_back(reply);
        continue;
      }
      status = states_->status(asked->file, status);
      if (asked->closes) states_->closed(asked->file);
      asked_.erase(asked);
    }
    if (links_.answer(reply.channel, reply.request, status)) continue;
    if (found != connections_.end()) found->second->ring().answer(reply.request, status);
  }
  replies_.swap(early);
  for (const std::string& message : core_.take_messages()) log(message);
  for (const std::string& report : core_.take_reports()) append_line(options_.stats_path, report);
  if (trace_.on()) trace_.add(core_.take_spans());
}

void Server::log(const std::string& line) {
  append_line(options_.log_path, "millraced " + std::to_string(::getpid()) + ": " + line);
}

bool Server::may_leave(std::uint64_t now) {
  if (!connections_.empty() || !core_.idle()) return false;
  if (leaving_) return true;
  if (!links_.idle()) return false;
  const std::uint64_t linger_ms = served_ ? options_.linger_ms : options_.first_linger_ms;
  if (now - alone_since_ns_ < linger_ms * 1'000'000) return false;
  // A rank may be connecting just now: look once more, then take the name away. Whoever is in the queue
  // after that sees its connection reset and starts the next agent.
  accept_all();
  return connections_.empty();
}

// True if some rank would have woken a sleeping agent by now.
bool Server::something_waits() const {
  return std::any_of(connections_.begin(), connections_.end(), [](const auto& entry) {
    const Connection& connection = *entry.second;
    return connection.greeted() &&
           (connection.ring().has_request() || (connection.gone() && connection.ring().fill() > 0) ||
            connection.ring().fill() >= transport::wake_threshold(connection.ring_bytes()));
  });
}

void Server::sleep() {
  page_->sleeping.store(1, std::memory_order_seq_cst);
  const std::uint64_t now = now_ns();
  std::uint64_t until = std::min(core_.next_deadline_ns(), links_.deadline_ns());
  if (connections_.empty() && core_.idle() && (leaving_ || links_.idle())) {
    until = std::min(until,
                     alone_since_ns_ + (served_ ? options_.linger_ms : options_.first_linger_ms) * 1'000'000);
  }
  // While a rank waits for an answer that does not depend on storage (a close that waits for other ranks),
  // show twice a second that the agent lives, or the rank's bound on waits without progress runs out.
  if (!asked_.empty()) until = std::min(until, now + second_ns / 2);
  if (pass_open_) until = std::min(until, now + second_ns / 100);
  int timeout_ms = -1;
  if (until != UINT64_MAX)
    timeout_ms = until <= now ? 0 : static_cast<int>(std::min((until - now) / 1'000'000 + 1, second_ns));
  if (!pass_open_ && something_waits()) timeout_ms = 0;
  listen(timeout_ms);
  const bool storage_is_busy = std::any_of(asked_.begin(), asked_.end(), [&](const Asked& one) {
    return core_.dirty(one.file) || core_.keeps(one.file) || core_.fetching(one.file);
  });
  if (!asked_.empty() && !storage_is_busy) page_->progress.fetch_add(1, std::memory_order_relaxed);
}

// Takes what has come from outside the rings, and waits for it at most so long.
void Server::listen(int timeout_ms) {
  epoll_event events[64];
  const int count = ::epoll_wait(epoll_.get(), events, 64, timeout_ms);
  page_->sleeping.store(0, std::memory_order_seq_cst);
  listened_ns_ = now_ns();
  for (int i = 0; i < count; ++i) handle(events[i].data.u64, events[i].events);
}

void Server::handle(std::uint64_t tag, std::uint32_t events) {
  if (tag >= tag_first_link) return links_.handle(tag, events);
  std::uint64_t count = 0;
  signalfd_siginfo signal{};
  switch (tag) {
    case tag_listener:
      accept_all();
      break;
    case tag_wake:
      if (::read(wake_.get(), &count, sizeof count) < 0) break;
      break;
    case tag_signals:
      if (::read(signals_.get(), &signal, sizeof signal) > 0) leaving_ = true;
      break;
    case tag_storage:
      break;  // advance() takes the completions
    default: {
      const auto found = connections_.find(static_cast<ChannelId>(tag - tag_first_rank));
      if (found != connections_.end()) receive(*found->second);
    }
  }
}

}  // namespace millrace::agent
