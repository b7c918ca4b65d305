// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "client/file/process.hpp"
#include "client/session/session.hpp"

namespace millrace::client {

// Asks the agent questions for a handle without a part in the pipeline (opened for reading, refused by the
// agent, left to the MPI library). A question makes the agent write the pending bytes of the same file that
// other handles and other ranks of the node wrote. The agent's page says whether any bytes are pending. If
// none are, a question costs a few loads and no system call. A guest keeps no file open, and no rank waits
// for it. An agent that does not answer is never taken for none: the question fails. Thread safe.
class Guest {
 public:
  // The agent that the guest asks: the rank's agent, or a second agent after that one died.
  enum class Of { agent, successor };

  explicit Guest(Process& process, Of of = Of::agent)
      : process_(process), of_(of), agent_had_gone_(of == Of::agent && process.agent_has_gone()) {}

  // Call it before the MPI library reads `extent` of the file with this number (transport::file_number()).
  // All pending bytes in `extent` reach the file system. `target`: the file, unless `extent` is everything.
  Status before_reading(std::uint64_t number, Extent extent, const TargetFile* target = nullptr) {
    return ask(number, extent, target, false);
  }
  // Call it before the MPI library writes `extent`. It does the same as before_reading(), and afterwards no
  // ledger has older bytes that recovery could write back.
  Status before_writing(std::uint64_t number, Extent extent) { return ask(number, extent, nullptr, true); }

  // Call it before a file is opened. It also flushes all stand-ins of files of other nodes, because the
  // number of a stand-in does not name the file that it stands for.
  void before_opening(const transport::FileNumbers& file);

  // Code::timeout if there is an agent that does not answer. It may have bytes of the file.
  Status reach(std::uint64_t number) {
    Status heard;
    (void)session_that_knows(number, heard);
    return heard;
  }

  // The first error of bytes that earlier opens left. These opens are over, and the error does not belong to
  // this handle.
  Status first_error() const { return tally_.first_error; }

  // Notes that ranks of other nodes may have written the file, if they opened it together with ranks here.
  void order() { elsewhere_.store(true, std::memory_order_relaxed); }
  // True until the next question.
  bool ordered() const { return elsewhere_.load(std::memory_order_relaxed); }

 private:
  Status ask(std::uint64_t number, Extent extent, const TargetFile* target, bool writes);
  Session* session(Reason& why);
  Session* session_that_knows(std::uint64_t number, Status& heard);

  Process& process_;
  const Of of_;
  const bool agent_had_gone_;  // the agent had gone before the open of this handle: it can answer no question
  std::atomic<std::uint64_t> openings_seen_{0};  // for Session::knows()
  std::atomic<bool> elsewhere_{false};
  Tally tally_;  // guarded by the session's lock
};

}  // namespace millrace::client
