// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/start/starting.hpp"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include "transport/memory.hpp"
#include "transport/socket.hpp"

namespace millrace::client {

namespace {

// The environment without LD_PRELOAD, so that nothing is preloaded into the program.
std::vector<char*> own_environment() {
  std::vector<char*> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "LD_PRELOAD=", 11) != 0) kept.push_back(*entry);
  }
  kept.push_back(nullptr);
  return kept;
}

// A program that is about to start. posix_spawn shares memory with the child until exec: no atfork or exit
// handler of this program runs, and a large program costs no copy of its page tables.
class Spawn {
 public:
  Spawn(std::string program, std::vector<std::string> words)
      : program_(std::move(program)), words_(std::move(words)), environment_(own_environment()) {
    arguments_.push_back(program_.data());
    for (std::string& word : words_) arguments_.push_back(word.data());
    arguments_.push_back(nullptr);
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDWR, 0);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(&attributes_, static_cast<short>(POSIX_SPAWN_SETSIGMASK |
                                                                POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID));
  }
  ~Spawn() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  void connect(int from, int to) { ::posix_spawn_file_actions_adddup2(&files_, from, to); }
  // Returns 0 or an errno.
  int run(pid_t& child) {
    return ::posix_spawn(&child, program_.c_str(), &files_, &attributes_, arguments_.data(),
                         environment_.data());
  }

 private:
  std::string program_;
  std::vector<std::string> words_;
  std::vector<char*> arguments_, environment_;
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

struct Orphan {
  Spawn& program;
  pid_t process = -1;
  int failed = 0;
};

// In a child that shares this process's memory, and has descriptors of its own.
int start_orphan(void* orphan) {
  auto& one = *static_cast<Orphan*>(orphan);
  // A launcher waits until nobody has its pipes any more.
  constexpr unsigned close_on_exec = 4;  // CLOSE_RANGE_CLOEXEC
  ::syscall(SYS_close_range, static_cast<unsigned>(STDERR_FILENO + 1), ~0u, close_on_exec);
  one.failed = one.program.run(one.process);
  return 0;
}

// Starts the program as a child of a child that ends at once, and that tells its end to nobody.
Result<pid_t> spawn_orphan(Spawn& program) {
  constexpr std::size_t stack_bytes = 64 * 1024;
  void* const stack =
      ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return Status::from_errno(errno);
  Orphan orphan{program};
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);  // no handler of the program runs in the child
  const pid_t child =
      ::clone(start_orphan, static_cast<std::byte*>(stack) + stack_bytes, CLONE_VM | CLONE_VFORK, &orphan);
  const int failed = child < 0 ? errno : orphan.failed;
  if (child > 0) ::waitpid(child, nullptr, __WCLONE);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::munmap(stack, stack_bytes);
  if (failed != 0) return Status::from_errno(failed);
  return orphan.process;
}

// The program gets other descriptors at the lowest numbers, one after the other.
Fd out_of_the_way(Fd descriptor) {
  constexpr int first = transport::handed_answer + 1;
  return descriptor.get() >= first ? std::move(descriptor)
                                   : Fd(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, first));
}

}  // namespace

Result<pid_t> spawn(const std::string& program, const std::vector<std::string>& words, const Fd& handed) {
  Spawn child(program, words);
  if (::fcntl(STDERR_FILENO, F_GETFD) < 0) child.connect(STDIN_FILENO, STDERR_FILENO);
  child.connect(STDERR_FILENO, STDOUT_FILENO);
  child.connect(handed.get(), transport::handed_socket);
  pid_t process = -1;
  if (const int failed = child.run(process); failed != 0) return Status::from_errno(failed);
  return process;
}

Result<Starting> Starting::begin(const std::string& program, const std::string& name) {
  Result<Fd> named = transport::take_name(name);
  if (!named) return named.status();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Status::from_errno(errno);
  Fd answer(ends[0]);
  const Fd socket = out_of_the_way(*std::move(named)), tell = out_of_the_way(Fd(ends[1]));
  if (!socket.valid() || !tell.valid()) return Status::from_errno(errno);
  Spawn agent(program, {name});
  agent.connect(STDIN_FILENO, STDOUT_FILENO);
  agent.connect(STDIN_FILENO, STDERR_FILENO);
  agent.connect(socket.get(), transport::handed_socket);
  agent.connect(tell.get(), transport::handed_answer);
  const Result<pid_t> process = spawn_orphan(agent);
  if (!process) return process.status();
  return Starting(*process, std::move(answer));
}

bool Starting::has_ended(std::uint64_t bound_ms) const {
  const std::uint64_t begin_ns = transport::now_ns();
  for (;;) {  // a signal may interrupt a wait
    const std::uint64_t waited_ms = (transport::now_ns() - begin_ns) / 1'000'000;
    const std::uint64_t left_ms = bound_ms - std::min(bound_ms, waited_ms);
    if (transport::wait_readable(answer_.get(), static_cast<std::uint32_t>(left_ms))) return true;
    if (left_ms == 0) return false;
  }
}

Result<int> Starting::answer() const {
  unsigned char said = 0;
  if (::read(answer_.get(), &said, 1) != 1) return Code::io;
  return said;
}

// The number of a group of processes is not used again while the group has a process, and one of them has the
// other end of the pipe.
void Starting::kill() const {
  if (!has_ended()) ::kill(-process_, SIGKILL);
}

}  // namespace millrace::client
