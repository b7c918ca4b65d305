// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/server/serve.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "agent/core/core.hpp"
#include "agent/server/server.hpp"
#include "base/local.hpp"
#include "io/posix/memory_limit.hpp"
#include "transport/socket.hpp"
#include "transport/stamp.hpp"

namespace millrace::agent {

namespace {

// The agent's pool takes at most a quarter of a memory limit. Ranks and their files' pages have the rest.
constexpr std::uint64_t pool_share = 4;

// A file server needs a descriptor for each agent upstream. The usual limit of a login (1,024) is too low.
void raise_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

// The limit of processes may hold for a moment only, while others end.
pid_t fork_patiently() {
  constexpr int most = 100;
  for (int tries = 1;; ++tries) {
    const pid_t child = ::fork();
    if (child >= 0 || errno != EAGAIN || tries == most) return child;
    const timespec pause{0, 20'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

// Writes 0 or the errno of its start to `ready`.
int serve(const char* name, Fd socket, MakeStorage make_storage, Fd ready) {
  raise_descriptors();
  std::vector<std::string> messages;
  const Settings settings = from_environment(environ, messages);
  ServerOptions options;
  options.name = name;
  options.socket = std::move(socket);
  options.directory = local_directory(settings);
  options.stats_path = settings.stats_path;
  options.trace_directory = settings.trace_directory;
  options.timeout_ms = settings.timeout_ms;
  if (const char* log = std::getenv("MILLRACED_LOG")) options.log_path = log;
  if (const char* linger = std::getenv("MILLRACED_LINGER_MS")) {
    options.linger_ms = std::strtoull(linger, nullptr, 10);
  }
  Result<std::unique_ptr<io::Storage>> storage = make_storage(settings);
  Status status = storage.status();
  std::unique_ptr<Core> core;
  std::unique_ptr<Server> server;
  if (storage) {
    core = std::make_unique<Core>(**storage, local_directory(settings));
    options.bounds = {settings.write_within_ms * 1'000'000, io::memory_limit_bytes() / pool_share,
                      static_cast<std::uint32_t>(transport::choose_stamp_clock())};
    server = std::make_unique<Server>(*core, (*storage)->event_fd(), std::move(options));
    status = server->start();
  }
  const int error = status.ok() || status.error() == EADDRINUSE ? 0
                    : status.error() != 0                       ? status.error()
                                                                : EIO;
  const auto answer = static_cast<unsigned char>(error);
  if (::write(ready.get(), &answer, 1) != 1 || !status.ok()) return error;
  ready.reset();
  try {
    server->run();
  } catch (const std::bad_alloc&) {
    server->tell_no_memory();
    ::_exit(ENOMEM);  // the state may be half changed: nothing more is written
  }
  return 0;
}

// As serve(). An error that a constructor throws is told like any other.
int serve_safely(const char* name, Fd socket, MakeStorage make_storage, Fd ready) {
  const Fd told(::fcntl(ready.get(), F_DUPFD_CLOEXEC, 0));  // the other one is closed by then
  int error = EIO;
  try {
    return serve(name, std::move(socket), make_storage, std::move(ready));
  } catch (const std::bad_alloc&) {
    error = ENOMEM;
  } catch (const std::system_error& thrown) {  // of threads
    error = thrown.code().value();
  }
  const auto answer = static_cast<unsigned char>(error);
  if (::write(told.get(), &answer, 1) != 1) return EIO;
  return error;
}

}  // namespace

int serve_by_arguments(int argc, char** argv, MakeStorage make_storage) {
  if (argc != 2 || !std::string_view(argv[1]).starts_with("millrace-")) return EINVAL;
  Fd socket(transport::handed_socket), answer(transport::handed_answer);
  if (::fcntl(socket.get(), F_SETFD, FD_CLOEXEC) != 0 || ::fcntl(answer.get(), F_SETFD, FD_CLOEXEC) != 0)
    return EINVAL;
  // Closes all other descriptors of the rank. Their file systems may let this process wait, so the agent is
  // another one.
  ::syscall(SYS_close_range, static_cast<unsigned>(transport::handed_answer + 1), ~0u, 0u);
  if (::chdir("/") != 0) return errno;  // the agent must not keep a file system mounted
  const pid_t agent = fork_patiently();
  const auto failed = static_cast<unsigned char>(errno);
  if (agent < 0 && ::write(answer.get(), &failed, 1) != 1) return EIO;
  if (agent != 0) return agent > 0 ? 0 : failed;
  return serve_safely(argv[1], std::move(socket), make_storage, std::move(answer));
}

}  // namespace millrace::agent
