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
#include "agent/requests/sender_numbers.hpp"

namespace millrace::agent {

// The links of this agent with agents of other nodes. An agent upstream connects and proves that it holds the
// key of an open, which this agent's ranks have registered. From then on it is a sender of Core, as a rank
// is. There is one link for each open, lane and pair of agents, so that files do not hold each other up.
//
// Lives in an event loop, Server's or the simulator's. Links gives the descriptor of every stream to the
// Loop, handle() gets the events, and pump() runs twice per round. Never blocks. Not thread safe.
class Links final : public ReadTaker {
 public:
  Links(io::Net& net, const io::Clock& clock, Loop::WatchSocket watch, Loop::LogLine log,
        std::uint64_t first_tag, const transport::LinkTimes& times);

  // The port for agents of other nodes; listens from the first call on.
  Result<std::uint16_t> listen() { return gate_.listen(); }

  // From now on, agents upstream may connect for this open, for as long as Core has the file of that number.
  void serve(const transport::Register& registration, FileSlot file, std::uint64_t file_number);
  Route route_of(const transport::Register& registration) { return downstreams_.route_of(registration); }

  void handle(std::uint64_t tag, std::uint32_t events);
  // Sends and receives without blocking. Call before drain() and after Core::advance().
  void pump(std::uint64_t now_ns);
  // Passes records of agents upstream to core, and their requests to `requests`. Logs why a link broke.
  Drained drain(Core& core, std::vector<PendingRequest>& requests);
  // Agents that have gone since the last call. The caller forgets all that it has of them. No other agent
  // gets such a number before this call has returned it.
  std::vector<SenderId> take_ended() {
    for (const SenderId sender : ended_) numbers_.give_back(sender);
    return std::exchange(ended_, {});
  }
  // The number of frames with records that core has taken.
  std::uint64_t frames() const { return frames_; }
  // The number of these records; a frame may have many.
  std::uint64_t records() const { return records_; }
  // False if the sender is not an agent upstream.
  bool answer(SenderId sender, std::uint32_t request, Status status);
  bool has(SenderId sender) const { return joined_.contains(sender); }
  bool has_room(SenderId sender) const override;
  void wanted(SenderId sender, std::uint32_t request, std::uint32_t position,
              std::span<const std::byte> bytes) override;
  // Sends agents upstream a sign of progress, so that their ranks go on waiting. `own`: this agent has made
  // progress, and all agents upstream get a sign. Otherwise only lanes get one in which agents downstream
  // have sent signs. Across lanes, agents would send each other signs for ever; within a lane there is no
  // circle.
  void show_progress(bool own);
  // The number of signs that agents downstream have sent, in all lanes.
  std::uint64_t progress() const { return progress_; }
  std::uint64_t deadline_ns() const;
  // True if there is no agent upstream and no link downstream. Strangers do not count.
  bool idle() const { return joined_.empty() && downstreams_.empty(); }

 private:
  // An open in which agents upstream take part.
  struct Group {
    transport::LinkKey key;
    std::uint32_t node;
    std::uint32_t lanes;
    FileSlot file;
    std::uint64_t file_number;
    std::uint64_t record_max_bytes;                     // 0: open for reading only
    std::uint64_t ended_ns = 0;                         // since then it is open no more; 0: it is open
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

  Loop loop_;
  Gate gate_{loop_};
  Downstreams downstreams_;
  std::uint64_t frames_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t progress_ = 0;
  std::map<std::uint64_t, Group> groups_;
  std::map<std::uint64_t, std::unique_ptr<Upstream>> upstreams_;  // by tag
  std::map<SenderId, Upstream*> joined_;                          // the upstreams_ that Core knows
  SenderNumbers numbers_;                                         // of joined_
  std::vector<SenderId> ended_;                                   // take_ended()
  Agenda agenda_;                                                 // of upstreams_
  std::set<std::uint64_t> heard_;                                 // tags of upstreams_ to drain
};

}  // namespace millrace::agent
