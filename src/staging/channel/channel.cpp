// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/channel/channel.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "staging/channel/server.hpp"

namespace millrace::staging {

using channel::ArgumentKind;
using channel::ChannelOp;
using channel::Head;

namespace {

constexpr int load_timeout_ms = 60'000;
constexpr int host_socket = 3;    // millrace-host expects this number
constexpr int leave_tries = 200;  // of 10 ms

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

Result<std::unique_ptr<Channel>> Channel::in_thread(Pool& pool) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return Status::from_errno(errno);
  std::unique_ptr<Channel> made(new Channel(pool));
  made->socket_.reset(ends[0]);
  made->thread_socket_.reset(ends[1]);
  const Status status = made->thread_.start([socket = ends[1]] { channel::serve(socket); });
  if (!status.ok()) return status;
  return made;
}

Result<std::unique_ptr<Channel>> Channel::in_process(Pool& pool, const std::string& program) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return Status::from_errno(errno);
  std::unique_ptr<Channel> made(new Channel(pool));
  made->socket_.reset(ends[0]);
  // The number must not be 3 itself. A dup to the same number would keep close-on-exec.
  const Fd theirs(fcntl(ends[1], F_DUPFD_CLOEXEC, host_socket + 1));
  ::close(ends[1]);
  if (!theirs.valid()) return Status::from_errno(errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), host_socket);
  std::string name = program;
  char* arguments[] = {name.data(), nullptr};
  const int error = posix_spawn(&made->process_, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    made->process_ = -1;
    return Status::from_errno(error);
  }
  return made;
}

Channel::~Channel() {
  // The server sees the end of the stream and returns.
  if (socket_.valid()) shutdown(socket_.get(), SHUT_RDWR);
  socket_.reset();
  thread_.join();
  if (process_ <= 0) return;
  const timespec pause{0, 10'000'000};
  for (int tries = 0; tries < leave_tries; ++tries) {
    const pid_t gone = waitpid(process_, nullptr, WNOHANG);
    if (gone == process_ || (gone < 0 && errno != EINTR)) return;
    nanosleep(&pause, nullptr);
  }
  ::kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// Sends a question and waits for its answer. Call it with mutex_ held. Then head_ and message_ are the
// answer, even if the answer is an error.
Status Channel::ask(const Head& question, std::span<const std::byte> body, Device* memory, int timeout_ms) {
  message_.clear();
  if (!socket_.valid()) return {Code::io, ESRCH};
  Status status = channel::put(socket_.get(), question, body);
  while (status.ok()) {
    status = channel::get(socket_.get(), head_, message_, timeout_ms);
    if (!status.ok()) break;
    if (head_.op == ChannelOp::answer) return head_.error == 0 ? Status() : Status::from_errno(head_.error);
    status = serve_function(memory);
  }
  socket_.reset();  // a later answer would belong to another question
  return status;
}

// Answers a function's send_data or recv_data. A wrong address is an error for the function, and the channel
// still works.
Status Channel::serve_function(Device* memory) {
  const std::uint64_t size = head_.size;
  const bool sends = head_.op == ChannelOp::send_data;
  const bool sound =
      (sends && message_.size() == size) || (head_.op == ChannelOp::recv_data && size <= channel::data_max);
  if (!sound) return Code::corrupt;
  const MemoryRange range{memory, Address{head_.id}, size};
  if (!sends) message_.resize(size);
  const Status status = sends ? copy_to(pool_, range, message_) : copy_from(pool_, range, message_);
  const int error = status.ok() ? 0 : (status.error() != 0 ? status.error() : EIO);
  const std::span<const std::byte> body = sends || error != 0 ? std::span<const std::byte>() : message_;
  return channel::put(socket_.get(), {ChannelOp::answer, error, 0, 0, body.size()}, body);
}

Result<Channel::LibraryId> Channel::install(const std::string& path, std::string& why) {
  const std::lock_guard lock(mutex_);
  if (path.empty() || path.size() >= channel::name_max) return Code::invalid;
  const Status status =
      ask({ChannelOp::install, 0, 0, 0, path.size()}, bytes_of(path), nullptr, load_timeout_ms);
  if (!status.ok()) {
    why.assign(reinterpret_cast<const char*>(message_.data()), message_.size());
    return status;
  }
  return LibraryId{head_.id};
}

Result<Channel::Symbol> Channel::find(LibraryId library, const std::string& name, std::string& why) {
  const std::lock_guard lock(mutex_);
  if (name.empty() || name.size() >= channel::name_max) return Code::invalid;
  const Head question{ChannelOp::find, 0, static_cast<std::uint64_t>(library), 0, name.size()};
  const Status status = ask(question, bytes_of(name), nullptr, load_timeout_ms);
  if (!status.ok()) {
    why.assign(reinterpret_cast<const char*>(message_.data()), message_.size());
    return status;
  }
  return Symbol{head_.id};
}

Status Channel::uninstall(LibraryId library) {
  const std::lock_guard lock(mutex_);
  return ask({ChannelOp::uninstall, 0, static_cast<std::uint64_t>(library), 0, 0}, {}, nullptr,
             load_timeout_ms);
}

Status Channel::pack(std::span<const Argument> arguments, std::vector<std::byte>& body) {
  std::size_t reals = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  for (const Argument& argument : arguments) {
    const channel::Value& value = argument.value;
    reals += value.kind == ArgumentKind::real;
    if (value.bytes > channel::body_max) return {Code::too_big, E2BIG};
    if (channel::carries_in(value.kind)) bytes_in += value.bytes;
    if (channel::carries_out(value.kind)) bytes_out += value.bytes;
  }
  if (reals > channel::reals_max || arguments.size() - reals > channel::integers_max)
    return {Code::unsupported, E2BIG};
  if (bytes_in > channel::body_max || bytes_out > channel::body_max) return {Code::too_big, E2BIG};
  body.resize(arguments.size() * sizeof(channel::Value) + bytes_in);
  std::span<std::byte> rest(body);
  for (const Argument& argument : arguments) {
    std::memcpy(rest.data(), &argument.value, sizeof(channel::Value));
    rest = rest.subspan(sizeof(channel::Value));
  }
  for (const Argument& argument : arguments) {
    if (!channel::carries_in(argument.value.kind)) continue;
    const Status status = copy_from(pool_, argument.range, rest.first(argument.value.bytes));
    if (!status.ok()) return status;
    rest = rest.subspan(argument.value.bytes);
  }
  return {};
}

Status Channel::unpack(std::span<const Argument> arguments) {
  std::span<const std::byte> rest(message_);
  for (const Argument& argument : arguments) {
    if (!channel::carries_out(argument.value.kind)) continue;
    if (argument.value.bytes > rest.size()) return Code::corrupt;
    const Status status = copy_to(pool_, argument.range, rest.first(argument.value.bytes));
    if (!status.ok()) return status;
    rest = rest.subspan(argument.value.bytes);
  }
  return {};
}

Result<std::uint64_t> Channel::invoke(Symbol symbol, std::span<const Argument> arguments, Device* memory) {
  const std::lock_guard lock(mutex_);
  std::vector<std::byte> body;
  if (const Status status = pack(arguments, body); !status.ok()) return status;
  const Head question{ChannelOp::invoke, 0, static_cast<std::uint64_t>(symbol), arguments.size(),
                      body.size()};
  if (const Status status = ask(question, body, memory, -1); !status.ok()) return status;
  const std::uint64_t returned = head_.id;
  if (const Status status = unpack(arguments); !status.ok()) return status;
  return returned;
}

}  // namespace millrace::staging
