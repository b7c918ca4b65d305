// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/start/socket_contact.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "client/start/log.hpp"
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

// The number of processes of this node that the kernel has killed for lack of memory.
std::uint64_t SocketContact::killed_for_memory() {
  const Fd file(::open("/proc/vmstat", O_RDONLY | O_CLOEXEC));
  std::array<char, 16 * 1024> text{};
  const ssize_t size = file.valid() ? ::read(file.get(), text.data(), text.size() - 1) : 0;
  if (size <= 0) return 0;
  const char* const found = std::strstr(text.data(), "\noom_kill ");
  return found == nullptr ? 0 : std::strtoull(found + 10, nullptr, 10);
}

void SocketContact::clear_away() {
  transport::bury_dead();
  if (const std::uint64_t now = killed_for_memory(); now > kills_)
    say("the kernel has killed " + std::to_string(now - kills_) +
        (now - kills_ == 1 ? " process" : " processes") +
        " of this node for lack of memory, perhaps the agent: give the job more memory, or lower "
        "MILLRACE_SORT_BUFFER");
}

void SocketContact::hang_up() {
  socket_.reset();
  wake_.reset();
}

void SocketContact::say(const std::string& line) { log(line); }

}  // namespace millrace::client
