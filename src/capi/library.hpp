// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/settings.hpp"
#include "capi/handles.hpp"
#include "staging/pool.hpp"
#include "staging/requests.hpp"

namespace millrace::capi {

// The objects that a process has once: settings, staging memory, workers, open handles. The first call that
// needs the library makes it. The library is never destroyed, because threads of the program may use it to
// the very end. A child of fork() makes its own, with its parent's files.
class Library {
 public:
  static Library& get();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const Settings settings;
  Handles handles;
  staging::Pool pool;
  staging::AsyncRequests requests;

 private:
  Library();
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();

  const Library* parent_ = nullptr;
};

// The calls for reading and writing files, as in the preload of plain files (src/plain), with early writeback
// if the program syncs its files.
extern const staging::EndCalls calls;
void synced(int fd);

}  // namespace millrace::capi
