// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/process.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "client/start.hpp"
#include "client/trace.hpp"

namespace millrace::client {

namespace {

constexpr std::uint64_t look_again_ns = 1'000'000;  // see grace_ns in agent/server_ranks.cpp
constexpr std::size_t max_logged = 64;

struct Process {
  std::mutex mutex;
  Settings settings;
  std::unique_ptr<Session> session;
  std::atomic<Session*> ready{nullptr};
  const char* unable = nullptr;
  std::atomic<std::uint64_t> looked_ns{0};
  std::mutex files_mutex;
  std::vector<Leaver*> files;
  std::atomic<bool> child{false};
  std::atomic<bool> serialized{false};
  bool left = false;
  std::mutex log_mutex;
  std::vector<std::string> logged;
};

void leave_process(bool at_exit);

// Lives as long as the process: exit handlers of others may still write.
Process& process() {
  static Process& one = []() -> Process& {
    auto* made = new Process;
    std::vector<std::string> messages;
    made->settings = from_environment(environ, messages);
    for (const std::string& message : messages) {
      const std::string line = "millrace: " + message + "\n";
      if (::write(STDERR_FILENO, line.data(), line.size()) < 0) break;
    }
    return *made;
  }();
  return one;
}

void in_child() {
  process().child.store(true);
  if (Session* session = process().ready.load()) session->abandon_in_child();
}

const char* words_for(Status status) {
  switch (status.code()) {
    case Code::not_found:
      return "the agent's program, millraced, was not found; MILLRACE_AGENT can name it";
    case Code::access:
      return "the agent's program can't be run, or the agent belongs to another user; "
             "see MILLRACE_AGENT, and give each user's job its own MILLRACE_JOB";
    case Code::unsupported:
      return "the agent on this node is of another version; give each job its own MILLRACE_JOB";
    case Code::timeout:
      return "the agent did not start within 10 s: is the node overloaded?";
    default:
      return "no agent could be started; millrace doctor says what this machine lacks";
  }
}

}  // namespace

const Settings& process_settings() { return process().settings; }

bool in_forked_child() { return process().child.load(std::memory_order_relaxed); }

Session* process_session(bool may_start, const char*& why) {
  Process& self = process();
  if (Session* session = self.ready.load(std::memory_order_acquire)) return session;
  if (!may_start) {
    const std::uint64_t now = transport::now_ns();
    if (now - self.looked_ns.load(std::memory_order_relaxed) < look_again_ns) return nullptr;
    self.looked_ns.store(now, std::memory_order_relaxed);
  }
  const std::lock_guard lock(self.mutex);
  if (Session* session = self.ready.load()) return session;
  if (self.left) self.unable = "MPI has been finalized";
  why = self.unable;
  if (self.unable != nullptr) return nullptr;
  const TraceSpan span("connect");
  Result<std::unique_ptr<Session>> session =
      connect_session(self.settings, may_start, self.serialized.load());
  if (!session) {
    if (!may_start && session.status().code() == Code::not_found) return nullptr;
    why = self.unable = words_for(session.status());
    log(std::string("files are written by the MPI library alone: ") + why);
    return nullptr;
  }
  self.session = *std::move(session);
  ::pthread_atfork(nullptr, nullptr, &in_child);
  std::atexit([] { leave_process(true); });
  trace_begin(self.settings.trace_directory);
  self.ready.store(self.session.get(), std::memory_order_release);
  return self.session.get();
}

void add_leaver(Leaver* leaver) {
  const std::lock_guard lock(process().files_mutex);
  process().files.push_back(leaver);
}

void remove_leaver(Leaver* leaver) {
  const std::lock_guard lock(process().files_mutex);
  std::erase(process().files, leaver);
}

namespace {

void leave_process(bool at_exit) {
  Process& self = process();
  if (self.child.load()) return;
  {
    const std::lock_guard lock(self.mutex);
    if (self.left) return;
    self.left = true;
  }
  std::vector<Leaver*> files;
  {
    const std::lock_guard lock(self.files_mutex);
    files = self.files;
  }
  for (Leaver* file : files) file->leave(at_exit);
  if (Session* session = self.ready.load()) session->leave();
  trace_end();
}

}  // namespace

namespace {

// An address of this node at which other nodes may reach it: of the first interface asked for that has one.
Result<transport::TcpAddress> own_address() {
  std::vector<std::string> interfaces = process_settings().interfaces;
  if (interfaces.empty()) interfaces.emplace_back();  // any that is up
  for (const std::string& interface : interfaces) {
    const Result<std::vector<transport::TcpAddress>> found = transport::local_addresses(interface);
    if (found && !found->empty()) return found->front();
  }
  return Code::not_found;
}

}  // namespace

Result<transport::TcpAddress> meet() {
  const char* why = nullptr;
  Session* session = process_session(true, why);
  if (session == nullptr) return Code::lost_agent;
  const Result<transport::TcpAddress> own = own_address();
  if (!own) {
    log("no network interface for other nodes was found: each node writes for itself; see "
        "MILLRACE_INTERFACES");
    return own;
  }
  transport::TcpAddress address = *own;
  const Result<std::uint16_t> port = session->meet();
  if (!port) return port.status();
  address.port = *port;
  return address;
}

void calls_are_serialized() { process().serialized.store(true); }

void finalize() { leave_process(false); }

void log(const std::string& line, bool once) {
  Process& self = process();
  const std::lock_guard lock(self.log_mutex);
  if (once) {
    if (std::find(self.logged.begin(), self.logged.end(), line) != self.logged.end()) return;
    if (self.logged.size() >= max_logged) return;
    self.logged.push_back(line);
  }
  const std::string text = "millrace: " + line + "\n";
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

}  // namespace millrace::client
