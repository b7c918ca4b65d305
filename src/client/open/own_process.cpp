// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/own_process.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/local.hpp"
#include "client/costs/cost_record.hpp"
#include "client/file/process.hpp"
#include "client/file/refresh.hpp"
#include "client/session/trace.hpp"
#include "client/start/job.hpp"
#include "client/start/log.hpp"
#include "client/start/start.hpp"
#include "io/posix/identity.hpp"
#include "io/posix/owned.hpp"
#include "journal/folder.hpp"
#include "transport/presence.hpp"
#include "transport/socket.hpp"

namespace millrace::client {

namespace {

// This process, with the settings of its environment.
class OwnProcess final : public Process {
 public:
  explicit OwnProcess(Settings settings)
      : settings_(std::move(settings)), agent_(agent_name(settings_)), others_(settings_) {}

  const Settings& settings() const override { return settings_; }
  Session* session(bool may_start, Reason& why) override;
  bool agent_is_up() override;
  bool agent_has_gone() override;
  Session* successor(Reason& why) override;
  Result<OtherAgents::List> other_agents() override {
    return is_child() ? OtherAgents::List() : others_.look(*this);
  }
  void add(Leaver* leaver) override;
  void remove(Leaver* leaver) override;
  std::uint64_t now_ns() const override { return transport::now_ns(); }
  std::uint32_t processors() const override {
    static const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? static_cast<std::uint32_t>(online) : 1;
  }
  Result<std::uint64_t> size_of(const std::string& path) override;
  Status datasync(const Fd& file) override;
  Result<FileIdentity> identify(const Fd& file) override { return io::identify(file, false); }
  Result<FileIdentity> identify(const std::string& path) override { return io::identify(path); }
  Result<FileIdentity> mark(const Fd& file) override { return io::identify(file, true); }
  void look_again(const std::string& path) override { refresh(path); }
  void pause(std::uint32_t for_ms) override { pause_ms(for_ms); }
  Result<std::size_t> read_start(const Fd& journal, std::span<std::byte> into) override {
    return journal::read_start(journal, into);
  }
  bool recover(const std::string& directory, const std::string& path) override {
    return run_recovery(settings_, directory, path);
  }
  void say(const std::string& line) override { log(line); }

  void serialize() { serialized_.store(true); }
  bool reserve();
  void leave(bool at_exit);
  CostBook& costs() { return costs_; }

 private:
  static void in_child();
  void watch_forks();
  bool end_start();
  bool hold_places();

  const Settings settings_;
  CostBook costs_;
  std::mutex mutex_;
  transport::Lookout agent_;
  OtherAgents others_;
  std::unique_ptr<Session> session_;
  std::atomic<Session*> ready_{nullptr};
  Reason unable_ = Reason::none;
  bool watches_forks_ = false;
  std::atomic<std::uint64_t> look_at_ns_{0};  // the time of the next look for an agent
  struct {
    std::uint64_t since_ns = 0;   // 0: no agent is being started
    std::optional<Starting> own;  // by this process
    std::atomic<std::uint64_t> look_at_ns{0};
  } start_;
  std::atomic<bool> silent_{false};  // at the last look, an agent did not answer
  std::vector<std::unique_ptr<Session>> successors_;
  std::atomic<Session*> successor_{nullptr};  // the last of successors_
  std::atomic<std::uint64_t> look_for_successor_ns_{0};
  std::array<Fd, 4> reserved_;  // places for the descriptors of a session: socket, ring, page, eventfd
  std::timed_mutex files_mutex_;
  std::vector<Leaver*> files_;
  std::atomic<bool> serialized_{false};
  std::atomic<bool> left_{false};
};

// True from the first session on: process() has something to leave.
std::atomic<bool> connected{false};

// Lives as long as the process, because exit handlers of the program may still write.
OwnProcess& process() {
  static OwnProcess& one = []() -> OwnProcess& {
    (void)stderr_is_open();
    std::vector<std::string> messages;
    auto* made = new OwnProcess(from_environment(environ, messages));
    for (const std::string& message : messages) log(message, false);
    return *made;
  }();
  return one;
}

Reason reason_for(Status status) {
  return status.code() == Code::timeout ? Reason::agent_silent : Reason::agent_cannot_start;
}

// Why there is no agent.
std::string_view words_of(Status status) {
  switch (status.code()) {
    case Code::not_found:
      return "the agent's program, millraced, was not found; install Millrace again";
    case Code::access:
      return "the agent's program cannot be run, or the agent belongs to another user; give each user's job "
             "its own MILLRACE_JOB";
    case Code::unsupported:
      return "the agent on this node is of another version; give each job its own MILLRACE_JOB";
    case Code::refused:
      return "the agent's program is not millraced, or another process has the agent's name";
    default:
      return text_of(reason_for(status)).text;
  }
}

void OwnProcess::in_child() {
  process().set_child();
  if (Session* session = process().ready_.load()) session->abandon_in_child();
  if (Session* session = process().successor_.load()) session->abandon_in_child();
}

// If this rank could not start an agent, another rank may have started one since. This rank then joins it.
Session* OwnProcess::session(bool may_start, Reason& why) {
  if (Session* session = ready_.load(std::memory_order_acquire)) return session;
  if (!may_start && now_ns() < look_at_ns_.load(std::memory_order_relaxed)) {
    if (silent_.load(std::memory_order_relaxed)) why = Reason::agent_silent;
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  if (Session* session = ready_.load()) return session;
  if (left_) why = Reason::other_process;
  if (left_) return nullptr;
  silent_.store(false, std::memory_order_relaxed);
  if (may_start && !end_start()) {
    unable_ = why = Reason::agent_cannot_start;
    say("files are written by the MPI library alone: " + too_slow(settings_));
    return nullptr;
  }
  const bool starts = may_start && unable_ == Reason::none;
  const std::uint64_t begin_ns = now_ns();
  if (!starts && !agent_.anybody_listens()) {
    // The time counts from before the look. An agent that starts later serves no rank before this rank looks
    // again (transport::grace_ns).
    look_at_ns_.store(begin_ns + transport::look_again_ns, std::memory_order_relaxed);
    why = may_start ? unable_ : Reason::none;
    return nullptr;
  }
  const TraceSpan span("connect");
  agent_.rest();
  const bool reserved = reserved_.front().valid();
  for (Fd& one : reserved_) one.reset();
  std::string detail;
  Result<std::unique_ptr<Session>> session = connect_session(settings_, starts, serialized_.load(), detail);
  if (!session) {
    look_at_ns_.store(begin_ns + transport::look_again_ns, std::memory_order_relaxed);
    if (reserved) (void)hold_places();
    const bool none = !starts && session.status().code() == Code::not_found;
    if (none) why = may_start ? unable_ : Reason::none;
    if (none) return nullptr;
    why = reason_for(session.status());
    if (why == Reason::agent_silent) {  // it has taken all the time of this look
      silent_.store(true, std::memory_order_relaxed);
      look_at_ns_.store(now_ns() + transport::look_again_ns, std::memory_order_relaxed);
      if (!may_start) return nullptr;
    }
    if (starts) unable_ = why;
    say("files are written by the MPI library alone: " +
        (detail.empty() ? std::string(words_of(session.status())) : detail));
    return nullptr;
  }
  session_ = *std::move(session);
  watch_forks();
  connected.store(true);
  trace_begin(settings_.trace_directory);
  ready_.store(session_.get(), std::memory_order_release);
  return session_.get();
}

// Looks at most once per millisecond. If another rank has the agent's name, that one starts the agent, or
// this one when the name is free again.
bool OwnProcess::agent_is_up() {
  if (ready_.load(std::memory_order_acquire) != nullptr) return true;
  const std::uint64_t now = now_ns();
  if (now < start_.look_at_ns.load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(mutex_);
  start_.look_at_ns.store(now + transport::look_again_ns, std::memory_order_relaxed);
  if (left_ || unable_ != Reason::none) return true;
  if (start_.since_ns == 0) start_.since_ns = now;
  if (now - start_.since_ns > start_bound_ms(settings_) * 1'000'000) return true;
  if (start_.own) return start_.own->has_ended();
  if (agent_.anybody_listens()) return true;
  watch_forks();
  Result<Starting> begun = begin_start(settings_);
  if (!begun) return begun.status().error() != EADDRINUSE;
  start_.own = *std::move(begun);
  return false;
}

// Waits for the agent that this process starts, as long as the start may take. False: it has taken longer, by
// this process or by others.
bool OwnProcess::end_start() {
  const std::optional<Starting> own = std::exchange(start_.own, std::nullopt);
  const std::uint64_t since_ns = std::exchange(start_.since_ns, 0);
  if (since_ns == 0) return true;
  const std::uint64_t bound_ms = start_bound_ms(settings_);
  const std::uint64_t left_ms = bound_ms - std::min(bound_ms, (now_ns() - since_ns) / 1'000'000);
  if (!own) return left_ms > 0 || agent_.anybody_listens();
  if (own->has_ended(left_ms)) return true;
  own->kill();
  return false;
}

void OwnProcess::watch_forks() {
  if (!std::exchange(watches_forks_, true)) ::pthread_atfork(nullptr, nullptr, &in_child);
}

bool OwnProcess::hold_places() {
  for (Fd& one : reserved_) {
    if (!one.valid()) one = spare_descriptor();
    if (!one.valid()) return false;
  }
  return true;
}

// Reserves the descriptors of a later session.
bool OwnProcess::reserve() {
  if (ready_.load(std::memory_order_acquire) != nullptr) return true;
  const std::lock_guard lock(mutex_);
  if (ready_.load() != nullptr || hold_places()) return true;
  for (Fd& one : reserved_) one.reset();  // the program may need them
  return false;
}

bool OwnProcess::agent_has_gone() {
  Session* session = ready_.load(std::memory_order_acquire);
  return session != nullptr && session->gone();
}

// The time of the next look counts from before this look. An agent that starts later serves no rank before
// this rank looks again (transport::grace_ns).
Session* OwnProcess::successor(Reason& why) {
  Session* const first = ready_.load(std::memory_order_acquire);
  if (first == nullptr) return nullptr;
  if (now_ns() < look_for_successor_ns_.load(std::memory_order_relaxed))
    return successor_.load(std::memory_order_acquire);
  const std::lock_guard lock(mutex_);
  const std::uint64_t begin_ns = now_ns();
  Session* const known = successor_.load();
  const bool gone = (known != nullptr ? known : first)->gone();
  if (gone && !left_ && agent_.anybody_listens()) {
    std::string detail;
    Result<std::unique_ptr<Session>> session = connect_session(settings_, false, serialized_.load(), detail);
    if (session.status().code() == Code::timeout) why = Reason::agent_silent;
    if (session) {
      successors_.push_back(*std::move(session));
      successor_.store(successors_.back().get(), std::memory_order_release);
    }
  }
  look_for_successor_ns_.store(begin_ns + transport::look_again_ns, std::memory_order_relaxed);
  return successor_.load();
}

void OwnProcess::add(Leaver* leaver) {
  const std::lock_guard lock(files_mutex_);
  files_.push_back(leaver);
}

void OwnProcess::remove(Leaver* leaver) {
  const std::lock_guard lock(files_mutex_);
  std::erase(files_, leaver);
}

Result<std::uint64_t> OwnProcess::size_of(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return Status::from_errno(errno);
  return static_cast<std::uint64_t>(about.st_size);
}

Status OwnProcess::datasync(const Fd& file) {
  return ::fdatasync(file.get()) == 0 ? Status() : Status::from_errno(errno);
}

// A handler of a signal may have called exit(), and the call that it interrupted keeps its locks. So locks
// are waited for with a bound. The agent takes what is in the ring in any case.
void OwnProcess::leave(bool at_exit) {
  if (is_child() || left_.exchange(true)) return;
  const std::chrono::milliseconds within(settings_.timeout_ms);
  for (Session* session : {ready_.load(), successor_.load()}) {
    if (session != nullptr && !session->mutex().comes_free(within)) return;
  }
  {
    const std::unique_lock lock(files_mutex_, std::chrono::seconds(1));
    if (!lock) return;
    for (Leaver* file : files_) file->leave(at_exit);
    if (!at_exit) files_.clear();
  }
  // An agent that was killed could not remove its page.
  if (Session* session = ready_.load(); session != nullptr && session->gone()) transport::bury_dead();
  // At exit, threads and destructors of other libraries may still write: the kernel hangs up later.
  if (Session* session = ready_.load(); session != nullptr && !at_exit) session->leave();
  if (Session* session = successor_.load(); session != nullptr && !at_exit) session->leave();
  trace_end(launcher_rank());
}

// Runs after the program's exit handlers and the destructors of its static objects, which may still write
// files, close them and finalize MPI.
__attribute__((destructor)) void leave_at_exit() {
  if (connected.load()) process().leave(true);
}

// Returns an address of this node for other nodes, from the first requested interface that has one.
Result<transport::TcpAddress> own_address() {
  std::vector<std::string> interfaces = process_settings().interfaces;
  if (interfaces.empty()) interfaces.emplace_back();  // any interface that is up
  for (const std::string& interface : interfaces) {
    const Result<std::vector<transport::TcpAddress>> found = transport::local_addresses(interface);
    if (found && !found->empty()) return found->front();
  }
  return Code::not_found;
}

}  // namespace

Process& own_process() { return process(); }
CostBook& cost_book() { return process().costs(); }

const Settings& process_settings() { return process().settings(); }

void prepare_start() {
  const NodePlace place = place_on_node();
  const bool last = place.count > 0 && place.number + 1 == place.count;
  if (last && process_settings().enabled) read_agent_ahead(process_settings());
}

Result<transport::TcpAddress> meet() {
  Reason why = Reason::none;
  Session* session = process().session(true, why);
  if (session == nullptr) return Code::lost_agent;
  Result<transport::TcpAddress> own = own_address();
  if (!own) {
    log("no network interface for other nodes was found: the MPI library alone writes files that several "
        "nodes open; name an interface in MILLRACE_INTERFACES");
    return own;
  }
  const Result<std::uint16_t> port = session->meet();
  if (port) own->port = *port;
  return port ? own : port.status();
}

transport::TcpAddress met() {
  const Session* session = process().joined();
  const bool known = session != nullptr && !session->lost() && session->met() != 0;
  const Result<transport::TcpAddress> address = known ? meet() : Code::not_found;
  return address ? *address : transport::TcpAddress{};
}

bool reserve_descriptors() { return process().reserve(); }

void calls_are_serialized() { process().serialize(); }

void finalize() { process().leave(false); }

void let_agent_work() {
  Session* const session = connected.load() ? process().joined() : nullptr;
  static const auto ranks = static_cast<std::uint32_t>(std::max(place_on_node().count, 0));
  if (session != nullptr && crowding(ranks, process().processors()) != 0) session->wait_until_taken();
}

}  // namespace millrace::client
