// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/start/start.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "base/local.hpp"
#include "client/start/job.hpp"
#include "client/start/socket_contact.hpp"
#include "transport/presence.hpp"
#include "transport/socket.hpp"

namespace millrace::client {

namespace {

constexpr std::uint64_t most_start_ms = 10'000;
constexpr int most_starts = 3;

// Waits for the end of a child, and returns its exit status. Code::io: a signal ended the child.
// Code::timeout: the child still runs.
Result<int> wait_for(pid_t child, std::uint64_t bound_ms) {
  const std::uint64_t begin_ns = transport::now_ns();
  for (;;) {
    int exit_status = 0;
    const pid_t done = ::waitpid(child, &exit_status, WNOHANG);
    if (done == child && !WIFEXITED(exit_status)) return Code::io;
    if (done == child) return WEXITSTATUS(exit_status);
    if (done < 0 && errno == ECHILD)
      return 0;  // the program reaps all children: the next connect shows the result
    if (transport::now_ns() - begin_ns > bound_ms * 1'000'000) return Code::timeout;
    pause_ms(1);
  }
}

// The agent's answer is an errno.
const char* words_of(int answer) {
  return answer == ENOMEM   ? " (the system gives it no memory)"
         : answer == EAGAIN ? " (too many processes)"
         : answer == EFBIG  ? " (the limit of the size of files, ulimit -f, is too small)"
         : answer == ENOSPC ? " (/dev/shm has no room for the agent's page)"
         : answer == EROFS || answer == EACCES || answer == ENOENT || answer == EOPNOTSUPP
             ? " (/dev/shm takes no file for the agent's page)"
             : "";
}

// Starts the job's agent, at most `most_starts` times, and waits for it.
class Starter {
 public:
  Starter(const Settings& settings, std::string name)
      : settings_(settings), name_(std::move(name)), bound_ms_(start_bound_ms(settings)) {}

  // Call it if no process listens at the name. Ok: try to connect again. Otherwise `why` may say more than
  // the status.
  Status start(std::string& why) {
    if (starts_ == most_starts) {
      why = agent_program(settings_) + last_ + ", " + std::to_string(most_starts) +
            " times, and no agent listens" + (known_ ? "" : ": install Millrace again");
      return Code::refused;
    }
    const Result<Starting> starting = start_patiently();
    if (!starting && starting.status().error() == EADDRINUSE) return wait_for_other(why);
    if (!starting && starting.status().error() == EAGAIN)
      why =
          "no process can be started for the agent: the limit of processes (ulimit -u, or pids.max of the "
          "control group) is reached";
    if (!starting) return starting.status();
    ++starts_;
    first_taken_ns_ = 0;
    if (!starting->has_ended(bound_ms_)) {
      starting->kill();
      why = too_slow(settings_);
      return Code::refused;
    }
    const Result<int> answer = starting->answer();
    const std::string words = answer ? words_of(*answer) : "";
    known_ = !words.empty();
    last_ = answer ? " answered with error " + std::to_string(*answer) + words : " ended without an answer";
    return {};
  }

 private:
  // Another rank may have the name already, and may be about to listen.
  Status wait_for_other(std::string& why) {
    const std::uint64_t now_ns = transport::now_ns();
    if (first_taken_ns_ == 0) first_taken_ns_ = now_ns;
    pause_ms(1);
    if (now_ns - first_taken_ns_ < bound_ms_ * 1'000'000 / 4) return {};
    why = "another process has the name of this job's agent, " + name_ +
          ", and does not listen: end it, or set MILLRACE_JOB to another name";
    return Code::refused;
  }

  // The limit of processes may hold for a moment only, while others end.
  Result<Starting> start_patiently() const {
    const std::uint64_t begin_ns = transport::now_ns();
    for (;;) {
      Result<Starting> starting = begin_start(settings_);
      if (starting || starting.status().error() != EAGAIN) return starting;
      if (transport::now_ns() - begin_ns > bound_ms_ * 1'000'000) return starting;
      pause_ms(20);
    }
  }

  const Settings& settings_;
  const std::string name_;
  const std::uint64_t bound_ms_;
  int starts_ = 0;
  std::string last_;    // how the last start ended
  bool known_ = false;  // this says why
  std::uint64_t first_taken_ns_ = 0;
};

// A contact with an agent of another job. The caller tells the user if the agent dies.
class SilentContact final : public SocketContact {
 public:
  using SocketContact::SocketContact;
  void say(const std::string&) override {}
  bool speaks() const override { return false; }
  void clear_away() override {}
};

// How a process greets an agent.
struct Greeting {
  std::uint64_t job_hash;
  std::uint64_t ring_bytes;
  bool serialized;
  std::uint64_t bound_ms;
  bool asks;  // only
};

// Greets the agent at the other end. Code::lost_agent: the agent was just leaving.
Result<std::unique_ptr<Session>> greet(Fd socket, const Settings& settings, const Greeting& how,
                                       std::string& why) {
  if (!transport::same_user(socket.get())) {
    why = "another user's process has the name of this job's agent: set MILLRACE_JOB to another name";
    return Code::access;
  }
  Result<transport::Producer> producer = transport::Producer::create(how.ring_bytes);
  if (!producer) return producer.status();
  transport::Hello hello{transport::protocol_version,
                         static_cast<std::uint32_t>(::getpid()),
                         how.job_hash,
                         how.ring_bytes,
                         {},
                         {}};
  if (!how.asks) hello.own = processors_of(0), hello.job = processors_of_job();
  if (!transport::send(socket.get(), hello, {producer->memory()}).ok()) return Code::lost_agent;
  if (!transport::wait_readable(socket.get(), static_cast<std::uint32_t>(how.bound_ms))) return Code::timeout;
  transport::Welcome welcome{};
  Result<transport::Received> received = transport::receive_message(socket.get(), &welcome, sizeof welcome);
  if (!received || received->size == 0) return Code::lost_agent;
  if (received->size != sizeof welcome || welcome.version != transport::protocol_version)
    return Code::unsupported;
  if (welcome.status.code() == Code::no_memory)
    why =
        "the job's agent has no file descriptor or no memory for another process: raise the hard limit of "
        "open "
        "files (ulimit -Hn)";
  if (!welcome.status.ok()) return welcome.status;
  // The kernel drops a descriptor for which this process has no room.
  if (!received->descriptors[transport::max_descriptors - 1].valid()) return Status::from_errno(EMFILE);
  Fd& page = received->descriptors[0];
  if (!transport::is_page(page)) return Code::unsupported;
  Result<transport::Mapping> mapping = transport::map(page.get(), sizeof(transport::AgentPage));
  if (!mapping) return mapping.status();
  Fd& wake = received->descriptors[1];
  std::unique_ptr<SocketContact> contact =
      how.asks ? std::make_unique<SilentContact>(std::move(socket), std::move(wake))
               : std::make_unique<SocketContact>(std::move(socket), std::move(wake));
  SessionParts parts{*std::move(producer), *std::move(mapping), std::move(contact),
                     settings.timeout_ms,  how.serialized,      local_directory(settings)};
  parts.storage_timeout_ms = settings.storage_timeout_ms;
  return std::make_unique<Session>(std::move(parts));
}

// The key is computed once, because a rank that looks for an agent at every close should not read /proc each
// time. It lives as long as the process: exit handlers may open files.
std::uint64_t job_hash(const Settings& settings) {
  static const std::string& key = *new std::string(job_key(settings));
  return checksum(key.data(), key.size());
}

}  // namespace

std::string agent_program(const Settings& settings) {
  if (!settings.agent_program.empty()) return settings.agent_program;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&connect_session), &info) == 0 || info.dli_fname == nullptr)
    return "millraced";
  const std::string library = info.dli_fname;
  const std::size_t slash = library.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : library.substr(0, slash);
  // The library lies in lib/, lib/millrace/ or lib/<architecture>/. Tests have all programs in one folder.
  for (const char* place :
       {"/millraced", "/../bin/millraced", "/../../bin/millraced", "/../../../bin/millraced"}) {
    if (::access((folder + place).c_str(), X_OK) == 0) return folder + place;
  }
  return folder + "/../bin/millraced";
}

void pause_ms(std::uint32_t for_ms) {
  const timespec pause{for_ms / 1000, for_ms % 1000 * 1'000'000L};
  ::nanosleep(&pause, nullptr);
}

bool run_recovery(const Settings& settings, const std::string& directory, const std::string& path) {
  // The file itself: its name may be new, or may change. A close of this descriptor drops no record locks.
  const Fd target(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!target.valid()) return true;
  const std::string handed = "/proc/self/fd/" + std::to_string(transport::handed_socket);
  const std::string agent = agent_program(settings);
  const std::size_t slash = agent.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : agent.substr(0, slash + 1);
  const Result<pid_t> child =
      spawn(folder + "millrace-recover", {"--dir", directory, "--target", handed}, target);
  if (!child) return false;
  const Result<int> left = wait_for(*child, most_start_ms);
  return left.ok() || left.status().code() == Code::timeout;
}

Result<Starting> begin_start(const Settings& settings) {
  return Starting::begin(agent_program(settings), agent_name(settings));
}

std::uint64_t start_bound_ms(const Settings& settings) {
  return std::min(most_start_ms, settings.timeout_ms);
}

std::string too_slow(const Settings& settings) {
  return agent_program(settings) + " did not start within " + std::to_string(start_bound_ms(settings)) +
         " ms: check that it is millraced, and that the node is not overloaded";
}

std::string agent_name(const Settings& settings) { return transport::agent_name(job_hash(settings)); }

void read_agent_ahead(const Settings& settings) {
  const Fd program(::open(agent_program(settings).c_str(), O_RDONLY | O_CLOEXEC));
  if (program.valid()) (void)::posix_fadvise(program.get(), 0, 0, POSIX_FADV_WILLNEED);
}

Result<std::unique_ptr<Session>> connect_session(const Settings& settings, bool may_start, bool serialized,
                                                 std::string& why) {
  const std::uint64_t hash = job_hash(settings);
  const std::string name = transport::agent_name(hash);
  const std::uint64_t bound_ms = start_bound_ms(settings);
  Starter starter(settings, name);
  const std::uint64_t begin_ns = transport::now_ns();
  std::uint32_t wait_ms = 1;
  while (transport::now_ns() - begin_ns < bound_ms * 1'000'000) {
    Result<Fd> socket = transport::connect_to(name, settings.timeout_ms);
    if (socket) {
      Result<std::unique_ptr<Session>> session =
          greet(*std::move(socket), settings,
                {hash, transport::rank_ring_bytes, serialized, settings.timeout_ms, false}, why);
      if (session || session.status().code() != Code::lost_agent) return session;
    } else if (socket.status().error() == EAGAIN) {
      why =
          "the process with the name of this job's agent takes no connection: end it, or set MILLRACE_JOB to "
          "another name";
      return Code::timeout;
    } else if (socket.status().error() != ECONNREFUSED) {
      return socket.status();
    } else if (!may_start) {
      return Code::not_found;
    } else if (const Status started = starter.start(why); !started.ok()) {
      return started;
    } else {
      continue;
    }
    pause_ms(wait_ms);
    wait_ms = wait_ms < 8 ? 2 * wait_ms : wait_ms;
  }
  return Code::timeout;
}

Result<std::unique_ptr<Session>> question_session(const Settings& settings, const std::string& name) {
  const std::uint64_t bound_ms = start_bound_ms(settings);
  Result<Fd> socket = transport::connect_to(name, bound_ms);
  if (!socket) return socket.status();
  std::string why;
  return greet(*std::move(socket), settings, {0, transport::min_ring_bytes, false, bound_ms, true}, why);
}

}  // namespace millrace::client
