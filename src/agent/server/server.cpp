// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/server/server.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <new>

#include "io/clock.hpp"
#include "report/line_file.hpp"
#include "transport/socket.hpp"
#include "transport/stamp.hpp"

namespace millrace::agent {

using transport::now_ns;

namespace {

constexpr std::uint64_t longest_wait_ms = 1'000'000'000;
constexpr std::uint64_t listen_every_ns = 200'000;

// A peer has to be lost before the ranks that wait for it give up.
constexpr transport::LinkTimes link_times(std::uint64_t timeout_ms) {
  transport::LinkTimes times;
  const std::uint64_t half_ns = timeout_ms * 500'000;
  times.silence_ns = std::min(times.silence_ns, half_ns);
  times.handshake_ns = std::min(times.handshake_ns, half_ns);
  times.ping_ns = std::min(times.ping_ns, times.silence_ns / 4);
  return times;
}

// The time between two signs of progress for other agents. Ranks get one in twice this time.
constexpr std::uint64_t share_every_ns(std::uint64_t timeout_ms) {
  return std::min<std::uint64_t>(250'000'000, timeout_ms * 1'000'000 / 8);
}

// True if a living agent never looks silent, and if its signs and the loss of a peer reach the ranks before
// they give up.
constexpr bool in_time(std::uint64_t timeout_ms) {
  const transport::LinkTimes times = link_times(timeout_ms);
  const std::uint64_t bound_ns = timeout_ms * 1'000'000;
  return 2 * times.ping_ns < times.silence_ns && times.silence_ns < bound_ns &&
         times.handshake_ns < bound_ns && 2 * share_every_ns(timeout_ms) < times.silence_ns &&
         HoldBack::longest_ns < times.silence_ns;
}
static_assert(in_time(rule_of("timeout").least) && in_time(setting_default::timeout) &&
              in_time(rule_of("timeout").most));

std::uint64_t processor_ns() {
  timespec used{};
  (void)::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(used.tv_nsec);
}

// Schedulers and users send signals to every process of a step. A signal that a program handles must not end
// its agent. Signals of the agent's own faults end it, and signals that stop and continue a process work as
// usual.
void ignore_signals() {
  for (int number = 1; number <= SIGRTMAX; ++number) {
    switch (number) {
      case SIGILL:
      case SIGTRAP:
      case SIGABRT:
      case SIGBUS:
      case SIGFPE:
      case SIGSEGV:
      case SIGSYS:
      case SIGCHLD:
      case SIGCONT:
      case SIGTSTP:
      case SIGTTIN:
      case SIGTTOU:
        break;
      default:
        (void)::signal(number, SIG_IGN);  // fails for signals that cannot be ignored
    }
  }
}

}  // namespace

Server::Server(Core& core, int storage_event_fd, ServerOptions options)
    : core_(core),
      storage_event_fd_(storage_event_fd),
      options_(std::move(options)),
      links_(
          net_, time_,
          [this](int socket, std::uint32_t events, std::uint64_t tag) { epoll_.watch(socket, events, tag); },
          [this](const std::string& line) { log(line); }, tag_first_link, link_times(options_.timeout_ms)) {}

Server::~Server() = default;

Status Server::make_page() {
  Result<transport::Presence> made = transport::Presence::create(options_.name, options_.directory);
  if (!made) return made.status();
  presence_ = *std::move(made);
  transport::AgentPage& page = presence_.page();
  const transport::StampClock clock = transport::choose_stamp_clock();
  page.stamp_clock = static_cast<std::uint32_t>(clock);
  options_.bounds.agent = page.shown.number;
  core_.set_bounds(options_.bounds);
  rounds_ =
      std::make_unique<Rounds>(core_, links_, page, time_,
                               Rounds::Ways{[clock] { return transport::read_stamp(clock); },
                                            [this](const std::string& line) { log(line); },
                                            [this](const std::string& line) { tell(line); }, processor_ns},
                               share_every_ns(options_.timeout_ms));
  return {};
}

Result<Fd> Server::listen_at_name() {
  if (!options_.socket.valid()) return transport::listen_at(options_.name);
  const Status status = transport::listen(options_.socket);
  if (!status.ok()) return status;
  return std::move(options_.socket);
}

Status Server::start() {
  if (Status status = make_page(); !status.ok()) return status;
  trace_ = SpanTrace(options_.trace_directory);
  core_.follow(true, trace_.on());

  ignore_signals();
  sigset_t leave;
  ::sigemptyset(&leave);
  ::sigaddset(&leave, SIGTERM);
  ::sigaddset(&leave, SIGINT);
  ::sigprocmask(SIG_BLOCK, &leave, nullptr);

  if (Status status = epoll_.open(); !status.ok()) return status;
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  signals_.reset(::signalfd(-1, &leave, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!wake_.valid() || !signals_.valid()) return Status::from_errno(errno);
  Result<Fd> listener = listen_at_name();
  if (!listener) return listener.status();
  alone_since_ns_ = now_ns();
  reception_.emplace(*rounds_, links_, epoll_, *std::move(listener), tag_listener, tag_first_rank,
                     Reception::GivenFds{presence_.shared(), wake_.get()},
                     [this](const std::string& line) { log(line); });
  for (const auto& [descriptor, tag] :
       {std::pair(wake_.get(), tag_wake), {signals_.get(), tag_signals}, {storage_event_fd_, tag_storage}}) {
    if (descriptor < 0) continue;
    if (Status status = epoll_.add(descriptor, tag); !status.ok()) return status;
  }
  return {};
}

void Server::run() {
  for (;;) {
    note_alone();
    const Rounds::Round round = rounds_->go();
    if (trace_.on()) trace_.add(core_.take_spans());
    if (round == Rounds::Round::held) {
      const timespec rest{0, HoldBack::look_ns};
      ::nanosleep(&rest, nullptr);
    }
    if (round != Rounds::Round::idle) {
      // Listens even under load: a new rank must not wait until other ranks stop writing.
      if (now_ns() - listened_ns_ >= listen_every_ns) listen(0);
    } else if (may_leave()) {
      break;
    } else {
      sleep();
    }
  }
  trace_.flush();
  log("leaves: no rank is connected, and everything is written", "info");
}

void Server::tell_no_memory() {
  presence_.page().ending.store(transport::ending_no_memory);
  try {
    log("ends: the system gave it no memory (RLIMIT_AS, or a limit without overcommitment)", "error");
  } catch (const std::bad_alloc&) {
    return;
  }
}

void Server::log(const std::string& line, const char* level) {
  report::append_line(options_.log_path, report::time_stamp() + " " + level + " millraced " +
                                             std::to_string(::getpid()) + ": " + line);
}

// Each line of Core is an object of JSON.
void Server::tell(const std::string& line) {
  const std::string place = "{\"processors\":\"" + reception_->place().text() + "\",";
  report::append_line(options_.stats_path, place + line.substr(1));
}

void Server::note_alone() {
  const bool alone = rounds_->ranks() == 0;
  if (alone && !alone_) alone_since_ns_ = now_ns();
  alone_ = alone;
}

// The time at which the agent may leave; UINT64_MAX: a rank or another agent needs it.
std::uint64_t Server::leaves_ns() {
  note_alone();
  if (!alone_ || !core_.idle() || !links_.idle()) return UINT64_MAX;
  if (leaving_) return 0;
  return alone_since_ns_ + (reception_->served() ? options_.linger_ms : options_.first_linger_ms) * 1'000'000;
}

bool Server::may_leave() {
  if (now_ns() < leaves_ns()) return false;
  if (leaving_) return core_.end();
  // Accepts ranks that have just connected. A rank that connects after this sees its connection reset, and
  // starts the next agent.
  reception_->accept_all();
  return rounds_->ranks() == 0 && core_.end();
}

void Server::sleep() {
  presence_.page().sleeping.store(1, std::memory_order_seq_cst);
  const std::uint64_t deadline_ns = rounds_->deadline_ns();
  const std::uint64_t leaves = leaves_ns();
  const std::uint64_t now = now_ns();
  const std::uint64_t until =
      std::min({deadline_ns, leaves, reception_->opens_ns(), reception_->drop_silent(now)});
  int timeout_ms = -1;
  if (until != UINT64_MAX)
    timeout_ms =
        until <= now ? 0 : static_cast<int>(std::min((until - now) / 1'000'000 + 1, longest_wait_ms));
  listen(timeout_ms);
  rounds_->woke();
}

// Waits at most `timeout_ms` for events of descriptors, and handles them.
void Server::listen(int timeout_ms) {
  reception_->watch_door();
  epoll_event events[64];
  const int count = epoll_.wait(events, timeout_ms);
  presence_.page().sleeping.store(0, std::memory_order_seq_cst);
  listened_ns_ = now_ns();
  presence_.page().alive_ns.store(io::wall_ns(), std::memory_order_relaxed);
  for (int i = 0; i < count; ++i) handle(events[i].data.u64, events[i].events);
}

void Server::handle(std::uint64_t tag, std::uint32_t events) {
  if (tag >= tag_first_link) return links_.handle(tag, events);
  std::uint64_t count = 0;
  signalfd_siginfo signal{};
  switch (tag) {
    case tag_listener:
      reception_->accept_all();
      break;
    case tag_wake:
      if (::read(wake_.get(), &count, sizeof count) < 0) break;
      break;
    case tag_signals:
      if (::read(signals_.get(), &signal, sizeof signal) <= 0) break;
      leaving_ = true;
      rounds_->write_out();
      break;
    case tag_storage:
      break;  // advance() takes the completions
    default:
      reception_->receive(static_cast<SenderId>(tag - tag_first_rank));
  }
}

}  // namespace millrace::agent
