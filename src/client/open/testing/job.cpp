// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/testing/job.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/checksum.hpp"
#include "client/open/own_process.hpp"
#include "client/start/job.hpp"
#include "transport/memory.hpp"
#include "transport/socket.hpp"

namespace millrace::client::testing {

Job::Job(const std::string& name, std::vector<std::string> environment)
    : environment_(std::move(environment)) {
  folder_ =
      std::filesystem::temp_directory_path() / ("millrace-test-" + std::to_string(::getpid()) + "-" + name);
  std::filesystem::create_directory(folder_);
  key_ = "test-" + std::to_string(::getpid()) + "-" + name;
  environment_.insert(environment_.begin(), "MILLRACED_LINGER_MS=200");
  environment_.push_back("MILLRACE_JOB=" + key_);
  environment_.push_back(std::string("MILLRACE_AGENT=") +
                         (real_agent() ? std::getenv("TEST_AGENT") : FAKE_AGENT));
}

bool Job::real_agent() { return std::getenv("TEST_AGENT") != nullptr; }

Job::~Job() {
  if (const pid_t left = agent(); left > 0) ::kill(left, SIGKILL);
  std::filesystem::remove_all(folder_);
}

pid_t Job::start(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  for (const std::string& entry : environment_) {
    const std::size_t equals = entry.find('=');
    ::setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
  }
  const int result = body();
  finalize();
  ::_exit(result);
}

int Job::wait(pid_t rank, int bound_s) {
  const std::uint64_t begin = transport::now_ns();
  for (;;) {
    int status = 0;
    if (::waitpid(rank, &status, WNOHANG) == rank)
      return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    if (transport::now_ns() - begin > static_cast<std::uint64_t>(bound_s) * 1'000'000'000) {
      ::kill(rank, SIGKILL);
      ::waitpid(rank, &status, 0);
      return 999;
    }
    ::usleep(1000);
  }
}

std::string Job::socket_name() const {
  const std::string key = "job:" + key_;
  return transport::agent_name(checksum(key.data(), key.size()));
}

pid_t Job::agent() const {
  Result<Fd> socket = transport::connect_to(socket_name());
  if (!socket) return -1;
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket->get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : -1;
}

// Asks for the agent only once. The agent takes every question for a client, and its linger time starts anew
// when a client leaves.
bool Job::agent_leaves_within(int seconds) const {
  const pid_t process = agent();
  return process <= 0 || ends_within(process, seconds);
}

namespace {

bool has_state(pid_t process, char state) {
  const std::vector<std::byte> stat = contents("/proc/" + std::to_string(process) + "/stat");
  const std::string text(reinterpret_cast<const char*>(stat.data()), stat.size());
  return text.find(std::string(") ") + state) != std::string::npos;
}

// A container's first process may be slow to reap. The first thread is a zombie while others still hold the
// descriptors.
bool is_zombie(pid_t process) {
  std::error_code none;
  const std::filesystem::directory_iterator threads("/proc/" + std::to_string(process) + "/task", none);
  return has_state(process, 'Z') && std::distance(begin(threads), end(threads)) <= 1;
}

}  // namespace

bool Job::ends_within(pid_t process, int seconds) {
  for (int i = 0; i < seconds * 100; ++i) {
    if (::kill(process, 0) != 0 || is_zombie(process)) return true;
    ::usleep(10'000);
  }
  return false;
}

bool Job::falls_asleep(pid_t process) {
  for (int i = 0, asleep = 0; i < 6'000 && asleep < 10; ++i) {
    asleep = has_state(process, 'S') ? asleep + 1 : 0;
    if (asleep == 10) return true;
    ::usleep(10'000);
  }
  return false;
}

Step::Step() : reached_(::eventfd(0, EFD_CLOEXEC)) {}
void Step::reach() const { (void)::eventfd_write(reached_.get(), 1); }
bool Step::await() const { return transport::wait_readable(reached_.get(), 60'000); }

std::vector<std::byte> contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

std::vector<std::byte> pattern(unsigned seed, std::uint64_t offset, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>((offset + i) * 31 + seed * 17 + (offset + i) / 251);
  return bytes;
}

}  // namespace millrace::client::testing
