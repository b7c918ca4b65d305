// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/session.hpp"

namespace millrace::client {

// The state that a process has once: its session and its open files.

// The session, made at the first call that needs it; nullptr if there is none. `why` then says why, in
// words for the report. With `may_start` false only an agent that runs already is joined, and it is
// looked for at most once per millisecond.
Session* process_session(bool may_start, const char*& why);

// True in a child of fork(): the ring and the files belong to the parent.
bool in_forked_child();

// Files that finalize() has to close.
class Leaver {
 public:
  virtual ~Leaver() = default;
  virtual void leave(bool at_exit) = 0;
};
void add_leaver(Leaver* leaver);
void remove_leaver(Leaver* leaver);

}  // namespace millrace::client
