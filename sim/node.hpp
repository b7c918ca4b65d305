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
#include <utility>
#include <vector>

#include "agent/core.hpp"
#include "agent/links.hpp"
#include "agent/rounds.hpp"
#include "client/rescue.hpp"
#include "io/virtual/timeline.hpp"
#include "io/virtual/trace.hpp"
#include "io/virtual/virtual_disk.hpp"
#include "io/virtual/virtual_net.hpp"
#include "scenario.hpp"
#include "transport/channel.hpp"

namespace millrace::sim {

// What all of a run's machines are made of.
struct World {
  io::Timeline& timeline;
  io::Trace& trace;
  io::VirtualNet& net;
  io::VirtualDisk& disk;
  Processors& processors;
};

// What a rank puts into its ring.
struct Item {
  transport::Kind kind;
  std::uint32_t request = 0;  // 0 for a record
  Extent extent = {};
  std::vector<std::byte> data = {};
};

// The agent of a node: the shipped Core, Links and Rounds, and the rings and the page that its ranks share
// with it. Sleeps until something changes or a deadline comes, as Server does; a round takes time. Where the
// client waits on a futex, its rank is called.
class Node {
 public:
  // `journals`: the node's folder for them.
  Node(World world, std::uint32_t number, const Scenario& scenario, std::string journals);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Called with answers, and when a rank's ring has room again.
  std::function<void(agent::ChannelId rank, std::uint32_t request, Status status)> on_answer;
  std::function<void(agent::ChannelId rank)> on_room;

  // The port at which other agents reach this one.
  std::uint16_t listen();
  // Ranks come in the order of their numbers.
  Status open(agent::ChannelId rank, const Fd& file, const transport::Register& registration);
  // False: the ring is full; on_room comes.
  bool push(agent::ChannelId rank, const Item& item);
  // False: every byte that ranks of the node wrote is in the file, as far as they can see.
  bool dirty() const;
  // False: and the ledger is empty.
  bool keeps() const;
  // The rank hangs up without closing. What it published is still good.
  void leave(agent::ChannelId rank);
  // The process stands still.
  void pause(std::uint64_t for_ns);
  // The process goes, or the host with it: what journals it leaves is in the folder then. Ranks that lose
  // their agent save what it had not kept.
  void crash(bool host);

  bool alive() const { return core_ != nullptr; }
  bool idle() const { return core_ == nullptr || core_->idle(); }
  // Changes while the agent gets something done.
  std::uint64_t progress() const { return page().progress.load(); }

 private:
  // A rank's end of its ring.
  struct Seat {
    transport::Producer producer;
    std::uint32_t asked = 0;  // the request whose answer it waits for
    bool wants_room = false;
    std::deque<std::uint64_t> ends;  // of records that the agent has not taken
    std::uint64_t pushed_bytes = 0;
    std::uint64_t taken_bytes = 0;
  };

  transport::AgentPage& page() const { return *reinterpret_cast<transport::AgentPage*>(page_.data()); }
  void plan(std::uint64_t time_ns);
  void round();
  void take_events();
  void look_at_seats();
  void wake(Seat& seat, bool urgent);
  std::uint64_t cost_ns();
  void sleep();
  std::uint64_t now() const { return world_.timeline.now_ns(); }

  World world_;
  std::uint32_t number_;
  std::string journals_;
  bool protects_;  // strategy journal
  std::uint64_t ring_bytes_;
  std::uint64_t cpu_bytes_per_second_;
  Costs costs_;
  std::uint64_t seen_net_bytes_ = 0;  // before this round
  std::uint64_t seen_disk_bytes_ = 0;
  std::uint64_t seen_records_ = 0;  // from links
  struct Watched {
    int descriptor;
    std::uint32_t events;
  };
  std::map<std::uint64_t, Watched> watched_;                   // by tag
  std::unordered_map<int, std::uint64_t> tags_;                // by descriptor
  std::vector<int> look_at_;                                   // descriptors that may be ready
  std::vector<std::pair<std::uint64_t, std::uint32_t>> told_;  // tags and events; scratch
  transport::Mapping page_;
  std::unique_ptr<agent::Links> links_;
  std::unique_ptr<agent::Core> core_;  // nullptr: the process has gone
  std::unique_ptr<agent::Rounds> rounds_;
  agent::FileSlot file_ = 0;
  client::Protected protected_{};
  std::map<agent::ChannelId, Seat> seats_;
  std::optional<io::Timeline::Event> planned_;
  std::uint64_t busy_until_ns_ = 0;
  bool slept_ = false;
};

}  // namespace millrace::sim
