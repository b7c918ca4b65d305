// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "plain/engine.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace millrace::plain {

// No parser of settings here: this may run in a signal handler. A bad word is told by `millrace run`.
void Engine::configure() {
  const char* enabled = std::getenv("MILLRACE");
  const char* word = std::getenv("MILLRACE_POSIX_WRITEBACK");
  Early mode = Early::automatic;
  if (word != nullptr && std::strcmp(word, "always") == 0) mode = Early::always;
  if (word != nullptr && std::strcmp(word, "never") == 0) mode = Early::never;
  if (enabled != nullptr && std::strcmp(enabled, "0") == 0) mode = Early::never;
  early_.set_mode(mode);
  ready_.store(true, std::memory_order_relaxed);
}

off_t Engine::position(int fd) const {
  const int error = errno;
  const off_t at = calls_.lseek(fd, 0, SEEK_CUR);
  errno = error;
  return at;
}

}  // namespace millrace::plain
