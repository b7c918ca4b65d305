// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/core.hpp"
#include "agent/core/intake.hpp"
#include "agent/links/agenda.hpp"
#include "agent/links/downstreams.hpp"
#include "agent/links/gate.hpp"
#include "agent/links/loop.hpp"
#include "agent/links/upstream.hpp"

namespace millrace::agent {

// An agent's links with those of other nodes. Upstream agents connect to it, prove that they hold the key of
// an open that this agent's ranks have told it of, and from then on are a sender of Core, as a rank is. One
// link per open, lane and pair of agents, so that files do not hold each other up.
//
// Lives in an event loop, Server's or the simulator's: its Loop is given every stream's descriptor, handle()
// gets its events, pump() runs once per round. Never blocks. Not thread safe.
class Links final : public FetchTaker {
 public:
  Links(io::Net& net, const io::Clock& clock, Loop::Watch watch, Loop::Log log, std::uint64_t first_tag,
        const transport::LinkTimes& times);

  // The port for agents of other nodes; listens from the first call on.
  Result<std::uint16_t> listen() { return gate_.listen(); }

  // An open whose upstream agents may connect from now on, for as long as Core has the file of that number.
  void serve(const transport::Register& registration, FileSlot file, std::uint64_t file_number);
  // The lanes of this agent.
  Route route_of(const transport::Register& registration) { return downstreams_.route_of(registration); }

  void handle(std::uint64_t tag, std::uint32_t events);
  // Sends and receives what can be. Call before drain() and after Core::advance().
  void pump(std::uint64_t now_ns);
  // Passes records of upstream agents to core; requests go to `requests`. `why` of a link that broke is
  // logged.
  Drained drain(Core& core, std::vector<PendingRequest>& requests);
  // Agents that have gone. The owner's records of them are void. No other agent gets such a number
  // before this call has returned it.
  std::vector<SenderId> take_ended() { return std::exchange(ended_, {}); }
  // Frames of records passed on to core so far.
  std::uint64_t frames() const { return frames_; }
  // ... a frame of many records counts each of them.
  std::uint64_t records() const { return records_; }
  // False if the sender is none of an upstream agent.
  bool answer(SenderId sender, std::uint32_t request, Status status);
  bool has(SenderId sender) const { return joined_.contains(sender); }
  bool has_room(SenderId sender) const override;
  void data(SenderId sender, std::uint32_t request, std::uint64_t offset,
            std::span<const std::byte> bytes) override;
  void end_of_data(SenderId sender, std::uint32_t request, std::uint64_t file_bytes) override;
  void wanted(SenderId sender, std::uint32_t request, std::uint32_t position,
              std::span<const std::byte> bytes) override;
  // Tells upstream agents that this one got something done, for their ranks' bound on waits without progress:
  // all of them, if it was its `own` work; else those of lanes in which agents downstream have said so. In a
  // lane nobody is upstream of itself. Across lanes, agents would keep telling each other for ever.
  void show_progress(bool own);
  // The same for agents downstream, in all lanes.
  std::uint64_t progress() const { return progress_; }
  std::uint64_t deadline_ns() const;
  // No agent upstream, and nothing left to send. Strangers do not count.
  bool idle() const { return joined_.empty() && downstreams_.empty(); }

 private:
  // An open that agents upstream take part in.
  struct Group {
    transport::LinkKey key;
    std::uint32_t node;
    std::uint32_t lanes;
    FileSlot file;
    std::uint64_t file_number;
    std::uint64_t record_max_bytes;                     // 0: nobody writes
    std::map<std::uint32_t, std::uint64_t> heard = {};  // by lane: signs of progress from downstream
  };

  void forget_groups(const Core& core);
  std::optional<transport::LinkKey> key_for(const transport::LinkIntroduction& introduction) const;
  void accept_all();
  void turn_away(std::uint64_t tag);
  void pump(Upstream& from, std::uint64_t now_ns);
  void hear(const transport::LinkIntroduction& from, std::uint64_t signs);
  bool enroll(Upstream& from, Core& core);
  Drained drain(Upstream& from, Core& core, std::vector<PendingRequest>& requests);
  void end(Upstream& from, Core& core, const std::string& why);
  SenderId free_sender() const;

  Loop loop_;
  Gate gate_{loop_};
  Downstreams downstreams_;
  std::uint64_t frames_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t progress_ = 0;
  std::map<std::uint64_t, Group> groups_;
  std::map<std::uint64_t, std::unique_ptr<Upstream>> upstreams_;  // by tag
  std::map<SenderId, Upstream*> joined_;                          // those of them that Core knows
  std::vector<SenderId> ended_;                                   // take_ended()
  Agenda agenda_;                                                 // upstreams_ to pump,
  std::set<std::uint64_t> heard_;                                 // ... and those to drain then
};

}  // namespace millrace::agent
