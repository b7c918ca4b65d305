// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "agent/pipeline/file_pipeline.hpp"
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
  // Time, summed over requests.
  std::uint64_t gather_ns = 0;  // wait for other members
  std::uint64_t drain_ns = 0;   // from there until all bytes are with the file system or the next agent
  std::uint64_t sync_ns = 0;    // settling
};

// The steps at which requests are now.
struct Phases {
  bool gather = false;
  bool drain = false;
  bool settle = false;
};

// The members of one lane of a file, and their requests. A request goes through these steps:
//
// - gather (sync, close): waits for other members (Gathering). If the lane merges and waits for agents only,
//   chunks below the marks of these agents leave meanwhile.
// - sweep (sync, close, if the lane merges): all other chunks leave in file order.
// - drain: the bytes of the request depart. The step ends when the outlet has finished with them.
// - settle: a sync, or a close with durability disk, needs a datasync. If the pipeline passes its bytes on,
//   every request but a want needs an answer of the next agent. One settling covers all requests at this
//   step.
// - read (want): waits until Reads have brought the bytes.
//
// Then the request is answered. Works on one FilePipeline. Not thread safe.
class Requests {
 public:
  // `upstreams`: as for Members. `reads`: nullptr unless the file has a route. `reads_only`: the file is only
  // read, so there is nothing to gather or to settle, and the next agent hears of no close. The life of such
  // a file ends with its last member.
  Requests(FilePipeline& pipeline, Reads* reads, const std::vector<Sender>& senders,
           std::uint32_t upstreams = 0, bool reads_only = false)
      : pipeline_(pipeline),
        reads_(reads),
        reads_only_(reads_only),
        members_(upstreams),
        gathering_(pipeline, members_, senders) {}

  void join(SenderId sender, std::uint64_t group, std::uint32_t expected, bool upstream = false);
  // A flush, arrive or sync. Only a flush has an extent. The file server answers an arrive at once: it has
  // taken all earlier records of the sender.
  void ask(transport::Kind kind, SenderId sender, std::uint32_t request, Extent extent);
  // A want, where there are Reads. The pieces ascend.
  void want(SenderId sender, std::uint32_t request, std::vector<ReadPiece> pieces);
  // `withdrawn`: see Core::close(). `answered` false: the caller answers the close. It always does if the
  // file is only read.
  void close(SenderId sender, std::uint32_t request, const transport::ClientCounters& counters,
             bool answered = true, bool withdrawn = false);
  // See Core::mark().
  void mark(SenderId sender, std::uint64_t offset);
  // True if an agent upstream is so far ahead of the merge that its records can wait if memory is short.
  bool ahead(SenderId sender) const;
  // Brings all records to stable storage, as a sync without an answer does.
  void settle_all();
  // True until the last settle_all() has ended; then its records are stable, or error() has the reason.
  bool settles_all() const;
  void abandon(SenderId sender);

  // True if anything moved. Appends answers.
  // `held`: syncs and closes are not answered now, because a close(2) that somebody else makes may tell an
  // error of bytes that they concern.
  bool advance(std::uint64_t now_ns, bool held, std::vector<Reply>& replies);
  std::uint64_t next_deadline_ns() const;

  Members& members() { return members_; }
  const Members& members() const { return members_; }
  // True if no member has the lane open or will, and its bytes are settled.
  bool over() const { return nobody() && members_.awaited() == 0 && settled_; }
  Phases phases() const;
  const RequestCounters& counters() const { return counters_; }
  const transport::ClientCounters& client_counters() const { return clients_; }

 private:
  enum class Step { gather, sweep, drain, settle, read, answered };

  struct Waiter : Asker {
    Step step;
    Extent extent = everything;
    bool answer = true;                  // false: the sender has gone, or gets its answer elsewhere
    std::uint64_t since_ns = 0;          // the begin of this step
    std::uint32_t departures = 0;        // the number for which it waits
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
  void give_up_reading();
  bool step_read(std::vector<Reply>& replies);
  void answer(const Waiter& waiter, std::vector<Reply>& replies);
  bool wants_settling(const Waiter& waiter) const;
  void begin_settling();
  bool answer_late(std::vector<Reply>& replies);

  FilePipeline& pipeline_;
  Reads* reads_;
  bool reads_only_;
  Members members_;
  Gathering gathering_;
  std::uint64_t begun_ns_ = 0;          // at the first advance()
  std::uint64_t used_ns_ = 0;           // when a member last had the lane open
  std::map<WaiterId, Waiter> waiters_;  // in the order of their arrival
  WaiterId next_waiter_ = 1;
  sink::Ticket settle_ticket_ = 0;       // of the settling under way; 0: none
  bool settle_over_ = false;             // the settling has ended, and its answers are held back
  std::vector<WaiterId> settle_covers_;  // the requests that this settling answers
  bool settled_ = false;                 // all bytes of gone members have departed, and are durable if needed
  bool passed_close_ = false;            // the next agent has been asked to close
  bool withdrawn_ = false;               // the only group has withdrawn: the next agent need not know
  bool held_ = false;                    // see advance()
  bool merging_ = false;                 // requests wait for agents only, and chunks leave meanwhile
  RequestCounters counters_;
  transport::ClientCounters clients_{};
};

}  // namespace millrace::agent
