// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "agent/requests/channel.hpp"
#include "agent/requests/fetches.hpp"
#include "agent/pipeline/file_pipeline.hpp"
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
struct Stages {
  bool gather = false;
  bool drain = false;
  bool settle = false;
};

// Who has one file open, and what they asked for. A request goes through these steps:
//
//   gather   sync, close: until the other ranks of the group have asked too, or have been silent for
//            100 ms, or for 2 s at most: a chunk that two ranks fill should leave once, complete. With
//            strategies sort and journal, while only agents are waited for, what these have passed leaves
//   sweep    ... then the rest leaves in file order
//   drain    everything asked for departs; until it has arrived
//   settle   sync, and close with durability disk: one datasync for all that are here; where the pipeline
//            only carries, every request: the next agent is asked, once for all that are here
//   fetch    where bytes were asked for: until they are where they are wanted (Fetches)
//   answer
//
// Works on one FilePipeline. Not thread safe.
class Requests {
 public:
  // `upstreams`: agents that will come, and that the file stays open for.
  Requests(FilePipeline& pipeline, Fetches* fetches, const std::vector<Channel>& channels,
           std::uint32_t upstreams = 0)
      : pipeline_(pipeline), fetches_(fetches), channels_(channels), awaited_(upstreams) {}

  // `expected` = channels of the group that may come, 0 if unknown. `upstream`: the channel is an agent.
  void join(ChannelId channel, std::uint64_t group, std::uint32_t expected, bool upstream = false);
  bool has(ChannelId channel) const;
  void flush(ChannelId channel, std::uint32_t request, Extent extent);
  // Answered at once by the file server; from then on it has the channel's records ahead of all later ones.
  void arrive(ChannelId channel, std::uint32_t request);
  void sync(ChannelId channel, std::uint32_t request);
  // An agent upstream has sent all below `offset` that it has for the sync or close that is to come.
  void mark(ChannelId channel, std::uint64_t offset);
  // True if records of an agent upstream are far enough ahead of others' to wait, should memory be short.
  bool ahead(ChannelId channel) const;
  // There are fetches.
  void fetch(ChannelId channel, std::uint32_t request, Extent extent);
  // `answered` false: the answer has been given, or will be, by somebody else.
  void close(ChannelId channel, std::uint32_t request, const transport::ClientCounters& counters,
             bool answered = true);
  // All that is here goes to stable storage, as for a sync; nobody waits for it.
  void settle_all();
  // False: what was here at the last settle_all() is there, or error() says why not.
  bool settles_all() const;
  void abandon(ChannelId channel);

  // True if anything moved. Appends answers.
  bool advance(std::uint64_t now_ns, std::vector<Reply>& replies);
  std::uint64_t next_deadline_ns() const;

  // Nobody has the file open, and nothing is left to do for it.
  bool over() const { return nobody() && awaited_ == 0 && settled_; }
  // False: no rank has the file open, though some may wait for its close.
  bool used_by_ranks() const {
    return std::ranges::any_of(members_, [](const Member& m) { return !m.upstream && !m.closing; });
  }
  bool used_by_ranks_of(std::uint64_t group) const {
    return std::ranges::any_of(
        members_, [group](const Member& m) { return !m.upstream && !m.closing && m.group == group; });
  }
  // A channel of the group has been here.
  bool knows(std::uint64_t group) const {
    return std::ranges::find(groups_, group, &Group::number) != groups_.end();
  }
  // True once, if a rank of the channel's group has gone.
  bool take_lost_peer(ChannelId channel);
  Stages stages() const;
  const RequestCounters& counters() const { return counters_; }
  const transport::ClientCounters& client_counters() const { return clients_; }
  std::uint32_t members_seen() const { return members_seen_; }      // ranks
  std::uint32_t upstreams_seen() const { return upstreams_seen_; }  // agents

 private:
  // So long records that are ahead() wait for the merge to get on; then they are taken all the same.
  static constexpr std::uint64_t hold_back_ns = 500'000'000;

  enum class Kind { arrive, flush, sync, close, fetch };
  enum class Step { gather, sweep, drain, settle, fetch };

  struct Member {
    ChannelId channel;
    std::uint64_t group;
    bool upstream;            // an agent, with its ranks behind it
    std::uint32_t round = 0;  // syncs asked for
    bool closing = false;
    bool lost_peer = false;  // to be told with the next answer
    std::uint64_t mark = 0;  // of an agent
  };
  struct Waiter {
    Kind kind;
    Step step;
    ChannelId channel;
    std::uint32_t request;
    std::uint64_t group;
    std::uint32_t round;
    bool answer = true;    // false: who asked has gone
    bool started = false;  // start_ns and since_ns are known
    std::uint64_t start_ns = 0;
    std::uint64_t since_ns = 0;    // when this step began
    std::uint32_t departures = 0;  // that it waits for
    Extent extent = everything;
    Status status = {};  // of its own
  };

  struct Group {
    std::uint64_t number;
    std::uint32_t expected;
    std::uint32_t joined;
  };

  bool nobody() const { return members_.empty() && waiters_.empty(); }
  void give_up_awaiting(std::uint64_t now_ns);
  Member* member(ChannelId channel);
  bool incomplete(std::uint64_t group) const;
  Waiter& add(Kind kind, ChannelId channel, std::uint32_t request);
  bool upstreams_hold() const;
  bool asked_too(const Member& other, const Waiter& waiter) const;
  bool merges() const;
  // How far what leaves for this waiter may be merged now; empty while a rank is waited for.
  std::optional<std::uint64_t> merges_until(const Waiter& waiter) const;
  void drain(WaiterId id, Waiter& waiter);
  bool step_sweep();
  // Until when the wait for the others may last; 0 if nobody is waited for.
  std::uint64_t gather_until_ns(const Waiter& waiter) const;
  bool step_gather(std::uint64_t now_ns);
  bool step_drain(std::uint64_t now_ns, std::vector<Reply>& replies);
  bool step_settle(std::uint64_t now_ns, std::vector<Reply>& replies);
  bool settle_after_last();
  bool step_fetch(std::vector<Reply>& replies);
  void begin_fetch(WaiterId id, const Waiter& waiter);
  void answer(const Waiter& waiter, std::vector<Reply>& replies);
  bool wants_settling(const Waiter& waiter) const;
  void begin_settling();
  bool answer_late(std::vector<Reply>& replies);

  FilePipeline& pipeline_;
  Fetches* fetches_;
  const std::vector<Channel>& channels_;
  std::vector<Member> members_;
  std::vector<Group> groups_;           // of all members that ever came
  std::uint32_t awaited_;               // agents that have not come yet
  std::uint64_t begun_ns_ = 0;          // at the first advance()
  std::map<WaiterId, Waiter> waiters_;  // in the order in which they came
  WaiterId next_waiter_ = 1;
  sink::Ticket settle_ticket_ = 0;       // the settling under way
  std::vector<WaiterId> settle_covers_;  // ... and for whom
  bool settled_ = false;                 // the last member's data has departed, and is durable if it must be
  bool last_settle_ = false;             // the settling under way is for members that have all gone
  bool passed_close_ = false;            // the next agent knows that nobody here has the file open
  bool merging_ = false;                 // no rank is waited for, but agents are
  std::uint64_t now_ns_ = 0;
  std::vector<WaiterId> finished_;
  std::vector<Fetches::Done> fetched_;
  std::vector<sink::Ticket> settled_tickets_;
  std::uint32_t members_seen_ = 0;
  std::uint32_t upstreams_seen_ = 0;
  RequestCounters counters_;
  transport::ClientCounters clients_{};
};

}  // namespace millrace::agent
