// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/process/helper.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

namespace millrace::staging {

namespace {

// A message to the child: map `bytes` if the address is 0, else unmap them. The answer is the address or the
// errno.
struct Question {
  std::uint64_t address;
  std::uint64_t bytes;
};
struct Answer {
  std::uint64_t address;
  std::uint64_t error;
};

constexpr timeval look_around{1, 0};
constexpr int leave_tries = 200;  // of 10 ms

Answer carry_out(const Question& question) {
  if (question.address != 0) {
    void* at = reinterpret_cast<void*>(static_cast<std::uintptr_t>(question.address));
    return {0, munmap(at, question.bytes) == 0 ? 0U : static_cast<std::uint64_t>(errno)};
  }
  void* at = mmap(nullptr, question.bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return {0, static_cast<std::uint64_t>(errno)};
  return {reinterpret_cast<std::uintptr_t>(at), 0};
}

// Runs in the child. The parent may have threads, so this code makes system calls only. It closes the
// parent's descriptors, because the parent's pipes would never end while they are open here.
[[noreturn]] void serve(int socket, pid_t parent) {
  if (dup2(socket, 0) != 0) _exit(1);
  syscall(SYS_close_range, 1U, ~0U, 0U);
  setsockopt(0, SOL_SOCKET, SO_RCVTIMEO, &look_around, sizeof look_around);
  for (;;) {
    Question question;
    const ssize_t got = recv(0, &question, sizeof question, 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
      if (getppid() != parent) _exit(0);
      continue;
    }
    if (got != sizeof question) _exit(0);
    const Answer answer = carry_out(question);
    if (send(0, &answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer) _exit(0);
  }
}

}  // namespace

Status Helper::start(std::uint64_t timeout_ms) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return Status::from_errno(errno);
  socket_.reset(ends[0]);
  const Fd theirs(ends[1]);
  const timeval bound{static_cast<time_t>(timeout_ms / 1000),
                      static_cast<suseconds_t>(timeout_ms % 1000 * 1000)};
  setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
  parent_ = getpid();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  // Signals stay blocked in the child, so that it never runs the program's handlers.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_ = fork();
  if (pid_ == 0) serve(theirs.get(), parent_);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return pid_ > 0 ? Status() : Status::from_errno(error);
}

Helper::~Helper() {
  if (pid_ <= 0 || parent_ != getpid()) return;
  socket_.reset();
  const timespec pause{0, 10'000'000};
  for (int tries = 0; tries < leave_tries; ++tries) {
    const pid_t gone = waitpid(pid_, nullptr, WNOHANG);
    if (gone == pid_ || (gone < 0 && errno != EINTR)) return;
    nanosleep(&pause, nullptr);
  }
  ::kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<std::uint64_t> Helper::ask(std::uint64_t address, std::uint64_t bytes) {
  const Question question{address, bytes};
  Answer answer{};
  const std::lock_guard lock(mutex_);
  if (send(socket_.get(), &question, sizeof question, MSG_NOSIGNAL) != sizeof question)
    return Status(Code::io, ESRCH);
  ssize_t got = 0;
  do {
    got = recv(socket_.get(), &answer, sizeof answer, 0);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) {
    socket_.reset();  // a late answer would be taken for the answer to the next question
    return Status(Code::timeout, ETIMEDOUT);
  }
  if (got != sizeof answer) return Status(Code::io, ESRCH);
  if (answer.error != 0) return Status::from_errno(static_cast<int>(answer.error));
  return answer.address;
}

Result<std::uint64_t> Helper::map(std::uint64_t bytes) { return ask(0, bytes); }

Status Helper::unmap(std::uint64_t address, std::uint64_t bytes) { return ask(address, bytes).status(); }

}  // namespace millrace::staging
