// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "plain/engine.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/environment.hpp"
#include "base/setting_table.hpp"

namespace millrace::plain {
namespace {

// Memory of the process for bytes that write-behind has not written yet.
constexpr std::size_t behind_memory_bytes = 128 << 20;

struct Words {
  const char* why;
  const char* setting;  // would change it
};

// The table of docs/reference/statistics.md.
Words words_for(const Noted& noted, const EarlyWriteback& early) {
  if (noted.behind_bytes != 0) return {"write-behind: posix_async names the file", "--posix-async"};
  if (early.off()) return {"early writeback is turned off", "MILLRACE=1"};
  if (noted.early_bytes != 0) return {"early writeback: the program syncs its files", ""};
  if (noted.offered_bytes != 0) return {"fewer than 2 MiB were written in a row", ""};
  return {"the program had not synced a file of 4 MiB or more before", ""};
}

}  // namespace

// This function may run in a signal handler. `millrace run` reports bad values.
void Engine::configure() {
  if (turned_off()) early_.turn_off();
  ready_.store(true, std::memory_order_relaxed);
}

void Engine::configure_behind() {
  static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
  const char* asked = std::getenv(setting_variable::posix_async);
  pthread_mutex_lock(&once);
  // The copy is never freed, because a program may open files until its very end.
  if (asked != nullptr && *asked != '\0' && !turned_off() && !asked_.load(std::memory_order_relaxed))
    behind_.configure(::strdup(asked), behind_memory_bytes);
  asked_.store(true, std::memory_order_release);
  pthread_mutex_unlock(&once);
}

void Engine::closing(int fd) {
  const Noted noted = notes_.take(fd);
  if (noted.bytes == 0 && noted.behind_bytes == 0) return;
  const int error = errno;
  char path[path_max], line[line_max];
  const Words words = words_for(noted, early_);
  if (calls_.path_of(fd, path, sizeof path) && calls_.regular(fd)) {
    const std::size_t length = describe(noted, path, words.why, words.setting, line, sizeof line);
    if (length != 0) calls_.append_report(line, length);
  }
  errno = error;
}

off_t Engine::position(int fd) const {
  const int error = errno;
  const off_t at = calls_.lseek(fd, 0, SEEK_CUR);
  errno = error;
  return at;
}

}  // namespace millrace::plain
