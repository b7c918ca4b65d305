// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

#include "client/file/file.hpp"
#include "client/file/process.hpp"

namespace millrace::client {

// The registration of one open with the agent, which the first call that needs the agent makes, and requests
// to the agent. For the agent, it holds a second descriptor of the file until close. Thread safe.
class Enrolment {
 public:
  // Keeps the references.
  Enrolment(const OpenRequest& request, TargetFile& target, Reason reason, Process& process)
      : barred(reason), carrying(request.through), process_(process), request_(request), target_(target) {}

  // Registers the file with the agent. nullptr: not now (may_start false), or never (`barred` says why).
  Session* enroll(bool may_start);
  // nullptr: this rank has not registered the file.
  Session* session() const { return session_.load(std::memory_order_acquire); }
  std::uint32_t slot() const { return slot_; }  // only with a session
  // For collective requests: a rank that wrote nothing joins an agent too, because other ranks wait for it.
  Session* session_of_group();
  // True if some rank of this node has the file open through the pipeline. Costs no system call.
  bool known_to_agent();
  // No byte behind it is pending. UINT64_MAX: not known.
  std::uint64_t pending_end();

  // Both need a session, and wait for the agent's answer. If a file server on another node writes the file,
  // ask() makes this node's file system look again.
  Status request(transport::Kind kind, Extent extent);
  Status ask(transport::Kind kind, Extent extent);
  // For a file of one node: saves the ring if the agent has gone. A rank that has not joined this agent may
  // overwrite this rank's bytes afterwards, by the MPI library or through the next agent. It first recovers
  // the journals of the dead agent, and must find this ring there.
  Status see_death();
  // The agent's work for all files, when this rank registered this one, and as of now.
  std::pair<Work, Work> agents_work() const { return {before_, session()->view().work()}; }
  Status sticky() { return session()->sticky(slot_); }
  // For a rank without a part in the pipeline: the dead agent may have lost bytes of other ranks of the node.
  Status without_agent() const { return bereft_.load() ? Code::lost_agent : Code::ok; }
  // An agent that this rank has not met may have died with the file in its ledger.
  Status settle_dead_ledgers();

  // True if the agents carry its reads.
  bool carries_reads() const {
    return carrying.load(std::memory_order_relaxed) && request_.routing.lanes > 0 &&
           (request_.stand_in.empty() || request_.file_bytes != 0);
  }
  // Opens the descriptor that close is to sync, before the MPI library writes.
  void hold_for_sync();

  std::atomic<Reason> barred;                // why this open cannot take the pipeline, for good
  std::atomic<bool> carrying;                // OpenRequest::through, until a rank writes the file
  std::atomic<std::uint64_t> file_bytes{0};  // when the agent got the file, or as last heard from the server
  Tally tally;                               // guarded by the session's lock

 private:
  Reason enroll_with(Session& session);
  // True if the agent may wait for a request of this rank, which has not registered the file. For a rank that
  // comes late, it waits only while bytes of the file are pending.
  bool is_awaited();

  Process& process_;
  const OpenRequest& request_;
  TargetFile& target_;
  std::mutex mutex_;
  std::mutex known_mutex_;
  std::uint64_t openings_seen_ = 0;         // for Session::knows()
  std::atomic<Session*> session_{nullptr};  // set once, after slot_
  std::uint32_t slot_ = 0;
  Work before_;                             // of the agent, when this rank registered the file
  std::atomic<bool> held_for_sync_{false};  // hold_for_sync() has been called
  std::atomic<bool> bereft_{false};  // the agent had bytes of other ranks and went before this rank joined it
};

}  // namespace millrace::client
