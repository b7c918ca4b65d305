// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/start/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace millrace::client {

namespace {

constexpr std::size_t max_logged = 64;

struct Logged {
  std::mutex mutex;
  std::vector<std::string> lines;
};

}  // namespace

bool stderr_is_open() {
  static const bool open = ::fcntl(STDERR_FILENO, F_GETFD) >= 0;
  return open;
}

void log(const std::string& line, bool once) {
  static Logged& logged = *new Logged;  // lives as long as the process: exit handlers may log
  const std::lock_guard lock(logged.mutex);
  if (once) {
    if (std::ranges::find(logged.lines, line) != logged.lines.end()) return;
    if (logged.lines.size() >= max_logged) return;
    logged.lines.push_back(line);
  }
  const std::string text = "millrace: " + line + "\n";
  if (!stderr_is_open() || ::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

}  // namespace millrace::client
