// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "agent/pipeline/file_pipeline.hpp"
#include "agent/requests/fetches.hpp"
#include "agent/requests/gathering.hpp"
#include "agent/requests/members.hpp"
#include "agent/requests/reads.hpp"
#include "agent/requests/sender.hpp"
#include "transport/frame.hpp"

namespace millrace::agent {

struct RequestCounters {
  std::uint64_t flushes = 0;
  std::uint64_t syncs = 0;
  std::uint64_t closes = 0;
  std::uint64_t gather_ns = 0;  // sums over requests: waiting for other ranks,
  std::uint64_t drain_ns = 0;   // ... for their bytes to be handed to the file system,
  std::uint64_t sync_ns = 0;    // ... for stable storage
};

// The steps that some request is at.
struct Phases {
  bool gather = false;
  bool drain = false;
  bool settle = false;
};

// The senders that have one file open, and their requests. A request goes through these steps:
//
//   gather   sync, close: until the other ranks of the group have asked too, or have been silent for
//            100 ms, or for 2 s at most: a chunk that two ranks fill should leave once, complete. With
//            strategies sort and journal, while only agents are waited for, what these have passed leaves
//   sweep    ... then the rest leaves in file order
//   drain    everything asked for departs; until it has arrived
//   settle   sync, and close with durability disk: one datasync for all that are here; where the pipeline
//            only carries, every request: the next agent is asked, once for all that are here
//   fetch    where bytes were asked for: until they are where they are wanted (Fetches, Reads)
//   answer
//
// Works on one FilePipeline. Not thread safe.
class Requests {
 public:
  // `upstreams`: agents that will come, and that the file stays open for.
  Requests(FilePipeline& pipeline, Fetches* fetches, Reads* reads, const std::vector<Sender>& senders,
           std::uint32_t upstreams = 0)
      : pipeline_(pipeline),
        fetches_(fetches),
        reads_(reads),
        members_(upstreams),
        gathering_(pipeline, members_, senders) {}

  // `expected` = senders of the group that may come, 0 if unknown. `upstream`: the sender is an agent.
  void join(SenderId sender, std::uint64_t group, std::uint32_t expected, bool upstream = false);
  // A flush, arrive, sync or fetch. Only a flush and a fetch (there are Fetches) have an extent. An arrive is
  // answered at once by the file server; from then on it has the sender's records ahead of all later ones.
  void ask(transport::Kind kind, SenderId sender, std::uint32_t request, Extent extent);
  // A want, where there are Reads. The pieces ascend.
  void want(SenderId sender, std::uint32_t request, std::vector<ReadPiece> pieces);
  // `answered` false: the answer has been given, or will be, by somebody else.
  void close(SenderId sender, std::uint32_t request, const transport::ClientCounters& counters,
             bool answered = true);
  // An agent upstream has sent all below `offset` that it has for the sync or close that is to come.
  void mark(SenderId sender, std::uint64_t offset);
  // True if records of an agent upstream are far enough ahead of others' to wait, should memory be short.
  bool ahead(SenderId sender) const;
  // All that is here goes to stable storage, as for a sync; nobody waits for it.
  void settle_all();
  // False: all records of the last settle_all() have arrived, or error() has the reason.
  bool settles_all() const;
  void abandon(SenderId sender);

  // True if anything moved. Appends answers.
  bool advance(std::uint64_t now_ns, std::vector<Reply>& replies);
  std::uint64_t next_deadline_ns() const;

  Members& members() { return members_; }
  const Members& members() const { return members_; }
  // Nobody has the file open, and nothing is left to do for it.
  bool over() const { return nobody() && members_.awaited() == 0 && settled_; }
  Phases phases() const;
  const RequestCounters& counters() const { return counters_; }
  const transport::ClientCounters& client_counters() const { return clients_; }

 private:
  enum class Step { gather, sweep, drain, settle, fetch };

  struct Waiter : Asker {
    Step step;
    Extent extent = everything;
    bool answer = true;                  // false: the asker has gone
    bool started = false;                // start_ns and since_ns are known
    std::uint64_t since_ns = 0;          // when this step began
    std::uint32_t departures = 0;        // that it waits for
    Status status = {};                  // of its own
    std::vector<ReadPiece> pieces = {};  // of a want
  };

  bool nobody() const { return members_.empty() && waiters_.empty(); }
  void give_up_awaiting(std::uint64_t now_ns);
  Waiter& add(transport::Kind kind, SenderId sender, std::uint32_t request, Step step);
  void drain(WaiterId id, Waiter& waiter);
  bool step_gather(std::uint64_t now_ns);
  bool step_sweep();
  bool step_drain(std::uint64_t now_ns, std::vector<Reply>& replies);
  bool step_settle(std::uint64_t now_ns, std::vector<Reply>& replies);
  bool settle_after_last();
  bool step_fetch(std::vector<Reply>& replies);
  bool step_read(std::vector<Reply>& replies);
  void begin_fetch(WaiterId id, Waiter& waiter);
  void answer(const Waiter& waiter, std::vector<Reply>& replies);
  bool wants_settling(const Waiter& waiter) const;
  void begin_settling();
  bool answer_late(std::vector<Reply>& replies);

  FilePipeline& pipeline_;
  Fetches* fetches_;
  Reads* reads_;
  Members members_;
  Gathering gathering_;
  std::uint64_t begun_ns_ = 0;          // at the first advance()
  std::map<WaiterId, Waiter> waiters_;  // in the order in which they came
  WaiterId next_waiter_ = 1;
  sink::Ticket settle_ticket_ = 0;       // the settling under way
  std::vector<WaiterId> settle_covers_;  // ... and for whom
  bool settled_ = false;                 // the last member's data has departed, and is durable if it must be
  bool last_settle_ = false;             // the settling under way is for members that have all gone
  bool passed_close_ = false;            // the next agent knows that nobody here has the file open
  bool merging_ = false;                 // no rank is waited for, but agents are
  std::vector<WaiterId> finished_;
  std::vector<Fetches::Done> fetched_;
  std::vector<Reads::Done> read_;
  std::vector<sink::Ticket> settled_tickets_;
  RequestCounters counters_;
  transport::ClientCounters clients_{};
};

}  // namespace millrace::agent
