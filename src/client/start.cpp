// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/start.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "base/local.hpp"
#include "client/job.hpp"
#include "client/socket_contact.hpp"
#include "transport/socket.hpp"

namespace millrace::client {

namespace {

constexpr std::uint64_t start_bound_ns = 10'000'000'000;

// The environment without what makes a preload of the agent.
std::vector<char*> agent_environment() {
  std::vector<char*> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "LD_PRELOAD=", 11) != 0) kept.push_back(*entry);
  }
  kept.push_back(nullptr);
  return kept;
}

// Owns what posix_spawn wants to be told.
struct Spawn {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  Spawn() {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDWR, 0);
    ::posix_spawn_file_actions_adddup2(&files, 0, 1);
    ::posix_spawn_file_actions_adddup2(&files, 0, 2);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setflags(
        &attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID));
  }
  ~Spawn() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;
};

// Runs a program of Millrace's and waits for its end: millraced goes to the background by itself and leaves
// when it listens. Returns its exit status; Code::io if it was killed. posix_spawn shares memory with the
// child until exec: no atfork or exit handler of the program runs, and a large program costs no copy of its
// page tables.
Result<int> launch(std::string path, std::vector<std::string> words) {
  std::vector<char*> arguments{path.data()};
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<char*> environment = agent_environment();
  const Spawn spawn;
  pid_t child = -1;
  const int failed = ::posix_spawn(&child, path.c_str(), &spawn.files, &spawn.attributes, arguments.data(),
                                   environment.data());
  if (failed != 0) return Status::from_errno(failed);
  const std::uint64_t begin_ns = transport::now_ns();
  for (;;) {
    int exit_status = 0;
    const pid_t done = ::waitpid(child, &exit_status, WNOHANG);
    if (done == child && !WIFEXITED(exit_status)) return Code::io;
    if (done == child) return WEXITSTATUS(exit_status);
    if (done < 0 && errno == ECHILD) return 0;  // the program reaps all children: connecting will tell
    if (transport::now_ns() - begin_ns > start_bound_ns) return Code::timeout;
    pause_ms(1);
  }
}

// Greets the agent at the other end. Code::lost_agent: it was just leaving.
Result<std::unique_ptr<Session>> greet(Fd socket, const Settings& settings, std::uint64_t job_hash,
                                       bool serialized) {
  if (!transport::same_user(socket.get())) return Code::access;
  Result<transport::Producer> producer = transport::Producer::create(settings.channel_bytes);
  if (!producer) return producer.status();
  transport::Hello hello{transport::protocol_version, static_cast<std::uint32_t>(::getpid()), job_hash,
                         settings.channel_bytes};
  if (!transport::send(socket.get(), hello, {producer->memory()}).ok()) return Code::lost_agent;
  if (!transport::wait_readable(socket.get(), 10'000)) return Code::timeout;
  transport::Welcome welcome{};
  Result<transport::Received> received = transport::receive_message(socket.get(), &welcome, sizeof welcome);
  if (!received || received->size == 0) return Code::lost_agent;
  if (received->size != sizeof welcome || welcome.version != transport::protocol_version)
    return Code::unsupported;
  if (!welcome.status.ok()) return welcome.status;
  Fd& page = received->descriptors[0];
  if (!transport::is_sealed_memory(page.get(), sizeof(transport::AgentPage))) return Code::unsupported;
  Result<transport::Mapping> mapping = transport::map(page.get(), sizeof(transport::AgentPage));
  if (!mapping) return mapping.status();
  auto contact = std::make_unique<SocketContact>(std::move(socket), std::move(received->descriptors[1]));
  return std::make_unique<Session>(SessionParts{*std::move(producer), *std::move(mapping), std::move(contact),
                                                settings.timeout_ms, serialized, local_directory(settings)});
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
  // lib/libmillrace.so, lib/millrace/..., or lib/<architecture>/...; tests have all in one folder.
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

bool run_recovery(const Settings& settings, const std::string& directory) {
  const std::string agent = agent_program(settings);
  const std::size_t slash = agent.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : agent.substr(0, slash + 1);
  const Result<int> left = launch(folder + "millrace-recover", {"--dir", directory});
  return left.ok() || left.status().code() == Code::timeout;
}

Result<std::unique_ptr<Session>> connect_session(const Settings& settings, bool may_start, bool serialized) {
  // As it was at first: who is asked for an agent at every close should not ask /proc as often.
  static const std::string key = job_key(settings);
  const std::uint64_t hash = checksum(key.data(), key.size());
  const std::string name = transport::agent_name(hash);
  const std::uint64_t begin_ns = transport::now_ns();
  std::uint32_t wait_ms = 1;
  while (transport::now_ns() - begin_ns < start_bound_ns) {
    Result<Fd> socket = transport::connect_to(name);
    if (socket) {
      Result<std::unique_ptr<Session>> session = greet(*std::move(socket), settings, hash, serialized);
      if (session || session.status().code() != Code::lost_agent) return session;
    } else if (socket.status().error() != ECONNREFUSED && socket.status().error() != EAGAIN) {
      return socket.status();
    } else if (!may_start) {
      return Code::not_found;
    } else if (Result<Fd> lock = transport::claim(name + "-start"); lock) {
      // The one that starts it; unless it has come up since we were refused.
      if (!transport::connect_to(name).ok()) {
        const Result<int> left = launch(agent_program(settings), {name});
        if (!left) return left.status();
        if (*left != 0) return Status::from_errno(*left);
      }
      continue;
    }
    pause_ms(wait_ms);
    wait_ms = wait_ms < 8 ? 2 * wait_ms : wait_ms;
  }
  return Code::timeout;
}

}  // namespace millrace::client
