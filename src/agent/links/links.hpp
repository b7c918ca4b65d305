// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/links/agenda.hpp"
#include "agent/pipeline/carrier.hpp"
#include "agent/core/intake.hpp"
#include "agent/core/core.hpp"
#include "agent/links/doorkeeper.hpp"
#include "agent/links/downstream.hpp"
#include "agent/links/strangers.hpp"
#include "io/clock.hpp"
#include "io/net.hpp"
#include "transport/link_io.hpp"
#include "transport/route.hpp"

namespace millrace::agent {

// An agent's links with those of other nodes. Upstream agents connect to it, prove that they hold the key of
// an open that this agent's ranks have told it of, and from then on are a channel of Core, as a rank is.
// Downstream, a Carrier makes its link when it first has something to say. One link per open, lane and pair
// of agents, so that files do not hold each other up.
//
// Lives in an event loop, Server's or the simulator's: watch() is given every stream's descriptor, handle()
// gets its events, pump() runs once per round. Reaches the world by the net and the clock that it is given,
// which outlive it. Never blocks. Not thread safe.
class Links final : public FetchTaker {
 public:
  // (Un)watches a socket under a tag: events 0 = no longer.
  using Watch = std::function<void(int socket, std::uint32_t events, std::uint64_t tag)>;
  using Log = std::function<void(const std::string& line)>;

  Links(io::Net& net, const io::Clock& clock, Watch watch, Log log, std::uint64_t first_tag,
        const transport::LinkTimes& times);
  ~Links() override;
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  // Where agents of other nodes reach this one; listens from the first call on.
  Result<std::uint16_t> listen();

  // An open whose upstream agents may connect from now on, for as long as Core has the file of that number.
  void serve(const transport::Register& registration, FileSlot file, std::uint64_t file_number);
  // The lanes of this agent.
  Route route_of(const transport::Register& registration);

  void handle(std::uint64_t tag, std::uint32_t events);
  // Sends and receives what can be. Call before drain() and after Core::advance().
  void pump(std::uint64_t now_ns);
  // Passes records of upstream agents to core; requests go to `requests`. `why` of a link that broke is
  // logged.
  Drained drain(Core& core, std::vector<PendingRequest>& requests);
  // Channels whose agents have gone. What the owner still has of them is void, and none of them is given to
  // another agent before this has told of it.
  std::vector<ChannelId> take_ended() { return std::exchange(ended_, {}); }
  // Frames of records passed on to core so far.
  std::uint64_t frames() const { return frames_; }
  // ... where a frame of many counts as many.
  std::uint64_t records() const { return records_; }
  // False if the channel is none of an upstream agent.
  bool answer(ChannelId channel, std::uint32_t request, Status status);
  bool has(ChannelId channel) const;
  bool has_room(ChannelId channel) const override;
  void data(ChannelId channel, std::uint32_t request, std::uint64_t offset,
            std::span<const std::byte> bytes) override;
  void end_of_data(ChannelId channel, std::uint32_t request, std::uint64_t file_bytes) override;
  // Tells upstream agents that this one got something done, for their ranks' bound on waits without progress:
  // all of them, if it was its `own` work; else those of lanes in which agents downstream have said so. In a
  // lane nobody is upstream of itself. Across lanes, agents would keep telling each other for ever.
  void show_progress(bool own);
  // How often agents downstream have said so, in any lane.
  std::uint64_t progress() const { return progress_; }
  std::uint64_t deadline_ns() const;
  // No agent upstream, and nothing left to send. Strangers do not count.
  bool idle() const;

 private:
  struct Group;
  struct Upstream;

  void forget_groups(const Core& core);
  std::optional<transport::LinkKey> key_for(const transport::LinkIntroduction& introduction) const;
  void accept_all();
  void watch_door(std::uint64_t now_ns);
  bool make_room(std::uint64_t now_ns);
  void turn_away(std::uint64_t tag);
  void log_refused(const std::string& why);
  void refresh(int socket, std::uint64_t tag, std::uint32_t& watched, transport::LinkIo& io);
  void connect(const std::shared_ptr<Downstream>& to);
  bool pump(Downstream& to, std::uint64_t now_ns);
  void pump(Upstream& from, std::uint64_t now_ns);
  void hear(const transport::LinkIntroduction& from, std::uint64_t signs);
  bool enroll(Upstream& from, Core& core);
  Drained take_records(Upstream& from, Core& core, const transport::FrameHeader& frame,
                       std::span<const std::byte> payload, std::string& why);
  Drained take_frames(Upstream& from, Core& core, std::vector<PendingRequest>& requests, std::string& why);
  Drained drain(Upstream& from, Core& core, std::vector<PendingRequest>& requests);
  void end(Upstream& from, Core& core, const std::string& why);
  ChannelId free_channel() const;
  Upstream* upstream_of(ChannelId channel) const;
  void touch(Upstream& from);

  io::Net& net_;
  const io::Clock& clock_;
  Watch watch_;
  Log log_;
  std::uint64_t first_tag_;
  std::uint64_t next_tag_ = 1;  // first_tag_ itself is the listener's
  transport::LinkTimes times_;
  std::uint64_t frames_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t progress_ = 0;
  std::unique_ptr<io::Listener> listener_;
  Doorkeeper door_;
  bool door_watched_ = false;
  Strangers strangers_;        // those of upstreams_ that have named no group yet
  std::uint64_t refused_ = 0;  // of them, so far
  std::map<std::uint64_t, Group> groups_;
  std::map<std::uint64_t, std::unique_ptr<Upstream>> upstreams_;      // by tag
  std::map<ChannelId, Upstream*> joined_;                             // those of them that Core knows
  std::vector<ChannelId> ended_;                                      // take_ended()
  std::map<std::uint64_t, std::shared_ptr<Downstream>> downstreams_;  // by tag
  Agenda from_up_;                                                    // upstreams_ to pump,
  std::set<std::uint64_t> heard_;                                     // ... and those to drain then
  std::shared_ptr<Agenda> to_down_ = std::make_shared<Agenda>();      // downstreams_ to pump
};

}  // namespace millrace::agent
