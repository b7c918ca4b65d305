// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "capi/library.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "capi/file.hpp"
#include "staging/cuda/find.hpp"

namespace millrace::capi {

namespace {

std::mutex making;
std::atomic<Library*> one{nullptr};  // get() makes it with `making` held

void tell(const char* line) {
  const std::string text = std::string("millrace: ") + line + "\n";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

Settings settings_of_process() {
  std::vector<std::string> messages;
  Settings settings = from_environment(environ, messages);
  for (const std::string& message : messages) tell(message.c_str());
  return settings;
}

}  // namespace

Library::Library()
    : settings(settings_of_process()),
      pool({.tell = &tell}),
      requests(pool,
               {.timeout_ms = settings.timeout_ms, .calls = &calls, .device_of = &staging::cuda::device_of}) {
}

Library& Library::get() {
  if (Library* made = one.load(std::memory_order_acquire)) return *made;
  const std::lock_guard lock(making);
  if (Library* made = one.load(std::memory_order_relaxed)) return *made;
  static const int installed = pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
  (void)installed;
  auto* made = new Library;
  one.store(made, std::memory_order_release);
  return *made;
}

void Library::before_fork() {
  making.lock();
  if (Library* made = one.load()) made->handles.lock();
}

void Library::after_fork_in_parent() {
  if (Library* made = one.load()) made->handles.unlock();
  making.unlock();
}

// Makes a new library for the child. The child lacks the parent's threads, devices and processes, and the
// parent's locks may stay taken for ever. The child never touches the parent's library again, so that none of
// its destructors runs.
void Library::after_fork_in_child() {
  if (Library* parents = one.load()) {
    auto* made = new Library;
    made->parent_ = parents;
    made->handles.inherit<OwnedFile>(parents->handles, [](OwnedFile& file) { return file.moved(); });
    one.store(made);
  }
  making.unlock();
}

}  // namespace millrace::capi
