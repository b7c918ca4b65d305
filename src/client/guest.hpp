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

// The questions of a handle without a part in the pipeline (opened for reading, refused by the agent, left to
// the MPI library). It asks for pending bytes of the same file that other handles and other ranks of the node
// have written. The agent's page says whether any bytes are pending; if not, a question is a few loads and no
// system call. A guest keeps no file open, and no rank waits for it. Thread safe.
class Guest {
 public:
  // The agent that it asks.
  enum class Of { agent, successor };

  explicit Guest(Process& process, Of of = Of::agent)
      : process_(process), of_(of), blind_(of == Of::agent && process.agent_has_gone()) {}

  // Before the MPI library reads `extent` of the file with this number (transport::file_number()): all
  // pending bytes there reach the file system. `size` gives the size of the file, and is called only if bytes
  // are pending.
  Status before_reading(std::uint64_t number, Extent extent,
                        const std::function<Result<std::uint64_t>()>& size);
  // ... or writes it. Also, no ledger brings older bytes back later.
  Status before_writing(std::uint64_t number, Extent extent);

  // Before a file is opened. Also flushes all stand-ins for files of other nodes, because their numbers do
  // not tell for which files they stand.
  void before_opening(std::uint64_t number);

  // The first error of bytes that earlier opens left. These opens are over, and the error does not belong to
  // this handle.
  Status left() const { return tally_.left; }

  // Ranks of other nodes may have written before now, if they have the file open together.
  void order() { elsewhere_.store(true, std::memory_order_relaxed); }

 private:
  Session* session();
  Session* session_that_knows(std::uint64_t number);

  Process& process_;
  const Of of_;
  const bool blind_;  // the agent had gone before this handle was opened: questions are not possible
  std::atomic<std::uint64_t> openings_seen_{0};  // for Session::knows()
  std::atomic<bool> elsewhere_{false};
  Tally tally_;  // guarded by the session's lock
};

}  // namespace millrace::client
