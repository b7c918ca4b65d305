// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/core.hpp"
#include "agent/links.hpp"
#include "io/virtual/timeline.hpp"
#include "io/virtual/trace.hpp"
#include "io/virtual/virtual_disk.hpp"
#include "io/virtual/virtual_net.hpp"
#include "scenario.hpp"

namespace millrace::sim {

// What all of a run's machines are made of.
struct World {
  io::Timeline& timeline;
  io::Trace& trace;
  io::VirtualNet& net;
  io::VirtualDisk& disk;
  const std::string& journals;  // a folder: journals have real names, and virtual contents
  Processors& processors;
};

// What a rank puts into its ring.
struct Item {
  transport::Kind kind;
  std::uint32_t request = 0;  // 0 for a record
  Extent extent = {};
  std::vector<std::byte> data = {};
  std::uint64_t stamp = 0;
};

// The agent of a node: the production Core and Links, in a loop that does what agent::Server's does, with
// rings that are queues here. Sleeps until something changes or a deadline comes; a round takes time.
class Node {
 public:
  Node(World world, std::uint32_t number, const Scenario& scenario);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Called with answers, and when a rank's ring has room again.
  std::function<void(agent::ChannelId rank, std::uint32_t request, Status status)> on_answer;
  std::function<void(agent::ChannelId rank)> on_room;

  // The port at which other agents reach this one.
  std::uint16_t listen();
  Status open(agent::ChannelId rank, const Fd& file, const transport::Register& registration);
  // False: the ring is full; on_room comes.
  bool push(agent::ChannelId rank, Item& item);
  // The rank hangs up without closing.
  void leave(agent::ChannelId rank);
  // The process stands still.
  void pause(std::uint64_t for_ns);
  // The process goes, or the host with it.
  void crash(bool host);

  bool alive() const { return core_ != nullptr; }
  bool idle() const { return core_ == nullptr || core_->idle(); }
  // Changes while the agent gets something done.
  std::uint64_t progress() const { return progress_; }

 private:
  enum class Pass { idle, worked, blocked };
  struct Ring {
    std::deque<Item> items;
    std::uint64_t bytes = 0;
    bool waited_for = false;
  };
  struct Asked {
    agent::ChannelId channel;
    std::uint32_t request;
  };

  void plan(std::uint64_t time_ns);
  void round();
  void take_events();
  Pass drain();
  Pass drain_rings();
  Pass drain_links();
  void take(agent::ChannelId rank, Item& item);
  void forget(agent::ChannelId channel);
  void forward(const agent::PendingRequest& request);
  void deliver();
  void share_progress();
  void sleep();
  std::uint64_t cost_ns();
  std::uint64_t now() const { return world_.timeline.now_ns(); }

  World world_;
  std::uint32_t number_;
  std::uint64_t ring_bytes_;
  std::uint64_t cpu_bytes_per_second_;
  struct Watched {
    int descriptor;
    std::uint32_t events;
  };
  std::map<std::uint64_t, Watched> watched_;                   // by tag
  std::unordered_map<int, std::uint64_t> tags_;                // by descriptor
  std::vector<int> look_at_;                                   // descriptors that may be ready
  std::vector<std::pair<std::uint64_t, std::uint32_t>> told_;  // tags and events; scratch
  std::unique_ptr<agent::Links> links_;
  std::unique_ptr<agent::Core> core_;  // nullptr: the process has gone
  agent::FileSlot file_ = 0;
  std::map<agent::ChannelId, Ring> rings_;
  std::vector<agent::PendingRequest> fresh_;    // seen by the running pass
  std::vector<agent::PendingRequest> waiting_;  // a whole pass has to end before they go to Core
  std::vector<Asked> asked_;                    // with Core, unanswered
  std::optional<io::Timeline::Event> planned_;
  std::uint64_t busy_until_ns_ = 0;
  std::uint64_t next_stamp_ = 1;
  std::uint64_t pass_stamp_ = 0;
  Costs costs_;
  std::uint64_t share_every_ns_;
  std::uint64_t moved_bytes_ = 0;     // in this round, for its cost: out of rings,
  std::uint64_t moved_records_ = 0;   // ... and how many
  std::uint64_t seen_net_bytes_ = 0;  // before this round
  std::uint64_t seen_disk_bytes_ = 0;
  std::uint64_t seen_records_ = 0;  // from links
  bool pass_open_ = false;
  bool slept_ = false;
  std::uint64_t progress_ = 0;
  std::uint64_t shared_ns_ = 0;
  std::uint64_t shared_progress_ = 0;
  std::uint64_t heard_progress_ = 0;
  std::uint64_t heard_steps_ = 0;
  std::uint64_t shared_heard_ = 0;
};

}  // namespace millrace::sim
