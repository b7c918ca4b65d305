// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/socket_contact.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "client/file.hpp"
#include "transport/memory.hpp"
#include "transport/presence.hpp"
#include "transport/socket.hpp"

namespace millrace::client {

std::uint64_t SocketContact::now_ns() const { return transport::now_ns(); }

void SocketContact::wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                               std::uint32_t bound_ms) {
  transport::futex_wait(word, expected, bound_ms);
}

void SocketContact::pause(std::uint32_t for_ms) {
  const timespec time{for_ms / 1000, for_ms % 1000 * 1'000'000L};
  ::nanosleep(&time, nullptr);
}

bool SocketContact::hung_up() { return transport::hung_up(socket_.get()); }

void SocketContact::wake() {
  const std::uint64_t one = 1;
  while (::write(wake_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

Status SocketContact::send(std::span<const std::byte> message, std::initializer_list<int> descriptors) {
  return transport::send_message(socket_.get(), message.data(), message.size(), descriptors.begin(),
                                 static_cast<int>(descriptors.size()));
}

bool SocketContact::wait_answer(std::uint32_t bound_ms) {
  return transport::wait_readable(socket_.get(), bound_ms);
}

Result<std::size_t> SocketContact::receive(std::span<std::byte> answer) {
  const Result<transport::Received> received =
      transport::receive_message(socket_.get(), answer.data(), answer.size());
  if (!received) return received.status();
  return received->size;
}

void SocketContact::clear_away() { transport::bury_dead(directory_); }

void SocketContact::hang_up() {
  socket_.reset();
  wake_.reset();
}

Result<std::uint64_t> SocketContact::size_of(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return Status::from_errno(errno);
  return static_cast<std::uint64_t>(about.st_size);
}

void SocketContact::say(const std::string& line) { log(line); }

}  // namespace millrace::client
