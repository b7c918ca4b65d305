// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "client/process.hpp"
#include "client/session.hpp"

namespace millrace::client {

// A handle that has no part in the pipeline (opened for reading, refused by the agent, left to the MPI
// library) asks for what other handles and other ranks of the node have pending of the same file. The page of
// the agent says whether anything is pending: while nothing is, a question is a few loads and no system call.
// A guest keeps no file open, and nobody waits for it. Thread safe.
class Guest {
 public:
  // Which agent it asks.
  enum class Of { agent, successor };

  explicit Guest(Process& process, Of of = Of::agent)
      : process_(process), of_(of), blind_(of == Of::agent && process.agent_has_gone()) {}

  // Before the MPI library reads `extent` of the file with this number (transport::file_number()): all that
  // is pending there reaches the file system. `size` is asked for only if something is pending, and tells
  // where the file ends.
  Status before_reading(std::uint64_t number, Extent extent,
                        const std::function<Result<std::uint64_t>()>& size);
  // ... or writes: and no ledger brings older bytes back later.
  Status before_writing(std::uint64_t number, Extent extent);

  // Before a file is opened: also what is pending in files that stand in for one of another node. For which,
  // their numbers do not tell.
  void before_opening(std::uint64_t number);

  // What went wrong with bytes that ranks had left: their opens are over, and this handle has no part in it.
  Status left() const { return tally_.left; }

  // Ranks of other nodes may have written before now, if they have the file open together.
  void order() { elsewhere_.store(true, std::memory_order_relaxed); }

 private:
  Session* session();
  Session* session_that_knows(std::uint64_t number);

  Process& process_;
  const Of of_;
  const bool blind_;  // the agent went before this handle came: nothing of it can be asked for
  std::atomic<std::uint64_t> openings_seen_{0};  // for Session::knows()
  std::atomic<bool> elsewhere_{false};
  Tally tally_;  // guarded by the session's lock
};

}  // namespace millrace::client
