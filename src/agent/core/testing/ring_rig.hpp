// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "agent/core/testing/core_rig.hpp"
#include "transport/topology.hpp"
#include "transport/want_list.hpp"

// For tests: the Cores of several nodes that have one file open, connected by carriers in memory.
namespace millrace::agent {

// The messages under way from one agent to the next.
struct Wire {
  struct Frame {
    transport::Kind kind;
    std::uint32_t request;
    Extent extent;
    std::vector<std::byte> data;
  };
  std::deque<Frame> frames;
  std::vector<Carrier::Answer> answers;
  std::deque<Carrier::Wanted> wanted;
  Status status;
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes_back = 0;  // of wants
  std::size_t room = 64;         // the most frames
  std::uint64_t asked = 0;       // number of syncs and closes
  std::uint64_t marks = 0;       // number of marks
  std::uint64_t marked = 0;      // the last mark since the last sync or close
  std::uint64_t below_mark = 0;  // number of records below the mark, which the mark had excluded
};

class MemoryCarrier final : public Carrier {
 public:
  explicit MemoryCarrier(std::shared_ptr<Wire> wire) : wire_(std::move(wire)) {}

  bool has_room() const override { return wire_->frames.size() < wire_->room; }
  void write(std::uint64_t offset, std::span<const std::byte> data) override {
    wire_->frames.push_back(
        {transport::Kind::write, 0, {offset, offset + data.size()}, {data.begin(), data.end()}});
    wire_->bytes += data.size();
    ++wire_->records;
    wire_->below_mark += offset < wire_->marked ? 1 : 0;
  }
  void mark(std::uint64_t offset) override {
    wire_->frames.push_back({transport::Kind::mark, 0, {offset, offset}, {}});
    wire_->marked = offset;
    ++wire_->marks;
  }
  void request(transport::Kind kind, std::uint32_t request, Extent extent) override {
    wire_->frames.push_back({kind, request, extent, {}});
    if (kind != transport::Kind::sync && kind != transport::Kind::close) return;
    wire_->marked = 0;
    ++wire_->asked;
  }
  void want(std::uint32_t request, std::span<const std::byte> list) override {
    wire_->frames.push_back({transport::Kind::want, request, {}, {list.begin(), list.end()}});
  }
  void flush() override {}
  bool take_wanted(Wanted& wanted) override {
    if (wire_->wanted.empty()) return false;
    wanted = std::move(wire_->wanted.front());
    wire_->wanted.pop_front();
    return true;
  }
  void take_answers(std::vector<Answer>& answers) override {
    answers.insert(answers.end(), wire_->answers.begin(), wire_->answers.end());
    wire_->answers.clear();
  }
  Status status() const override { return wire_->status; }

 private:
  std::shared_ptr<Wire> wire_;
};

// No topology of a plan: the bytes of node 0 go from node to node.
inline constexpr transport::RoutePlan chain{Topology::automatic, 1, MiB};

class RingRig {
 public:
  static constexpr SenderId first_upstream = 100;  // the agent of way i has number first_upstream + i

  struct Way {
    std::uint32_t from, to, lane;
    std::shared_ptr<Wire> wire;
    bool open = true;
    bool answers_come = true;
  };

  // `ranks` on every node have opened the file; sender r of node n is rank n * ranks + r.
  RingRig(const transport::RoutePlan& plan, std::uint32_t nodes, std::uint32_t ranks,
          const FileSettings& settings)
      : plan_(plan), ranks_(ranks) {
    for (std::uint32_t n = 0; n < nodes; ++n) {
      node.push_back(std::make_unique<Rig>());
      file.push_back(node[n]->storage.create());
    }
    for (std::uint32_t n = 0; n < nodes; ++n) open(n, settings);
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const Status joined = node[ways[i].to]->core.join(first_upstream + static_cast<SenderId>(i),
                                                        slot[ways[i].to], ways[i].lane, 1);
      if (!joined.ok()) std::abort();
    }
  }

  // The bytes that a rank has got for a want.
  const std::vector<std::byte>& window(std::uint32_t n, SenderId rank, std::uint32_t request) {
    return windows_[{n, rank, request}];
  }

  // One round of all nodes. `deliver`: frames move between nodes.
  void step(std::uint64_t ns = 1000, bool deliver = true) {
    for (auto& one : node) one->step(ns);
    if (!deliver) return;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (ways[i].open) pass(ways[i], first_upstream + static_cast<SenderId>(i));
    }
    // In turns: an answer may be known before the last data is taken, or only after it.
    backwards_ = !backwards_;
    for (std::uint32_t i = 0; i < node.size(); ++i) {
      const auto n = backwards_ ? static_cast<std::uint32_t>(node.size()) - 1 - i : i;
      Taker taker(*this, n);
      (void)node[n]->core.pass_read(taker);
    }
  }

  void write(std::uint32_t rank, std::uint64_t offset, std::span<const std::byte> data) {
    Rig& here = *node[rank / ranks_];
    for (std::size_t done = 0; done < data.size();) {
      const std::size_t size = std::min<std::size_t>(4 * KiB, data.size() - done);
      for (int i = 0; !here.core.ready(); ++i) {
        if (i > 1000000) std::abort();
        step();
      }
      here.core.write(rank % ranks_, slot[rank / ranks_], offset + done, data.subspan(done, size));
      done += size;
    }
    if (oracle.size() < offset + data.size()) oracle.resize(offset + data.size());
    std::ranges::copy(data, oracle.begin() + static_cast<std::ptrdiff_t>(offset));
  }

  // True if all ranks of all nodes have their answers within `steps` steps.
  bool await_all(std::uint32_t request, std::uint64_t step_ns = 1'000'000, int steps = 20000) {
    for (int i = 0; i < steps; ++i) {
      bool all = true;
      for (const auto& one : node) {
        for (SenderId r = 0; r < ranks_; ++r) all = all && one->answered(r, request);
      }
      if (all) return true;
      step(step_ns);
    }
    return false;
  }
  void close_all(std::uint32_t request) {
    for (std::uint32_t n = 0; n < node.size(); ++n) {
      for (SenderId r = 0; r < ranks_; ++r) node[n]->core.close(r, slot[n], request, counters(1));
    }
  }
  void sync_all(std::uint32_t request) {
    for (std::uint32_t n = 0; n < node.size(); ++n) {
      for (SenderId r = 0; r < ranks_; ++r) node[n]->core.ask(transport::Kind::sync, r, slot[n], request);
    }
  }

  // The bytes that all file servers together have written.
  std::vector<std::byte> contents() const {
    std::vector<std::byte> all(oracle.size());
    for (std::uint32_t lane = 0; lane < plan_.lanes; ++lane) {
      const std::uint32_t server =
          transport::file_server(plan_, static_cast<std::uint32_t>(node.size()), lane);
      const auto there = node[server]->storage.contents(0);
      for (std::size_t at = 0; at < std::min(all.size(), there.size()); ++at) {
        if (plan_.lanes == 1 || at / plan_.stripe_bytes % plan_.lanes == lane) all[at] = there[at];
      }
    }
    return all;
  }

  std::vector<std::unique_ptr<Rig>> node;
  std::size_t data_room = 2;  // the most pieces of bytes of wants in a wire
  std::vector<Fd> file;
  std::vector<FileSlot> slot;
  std::vector<Way> ways;
  std::vector<std::byte> oracle;
  std::set<std::pair<std::uint32_t, SenderId>> gone;  // nodes and ranks that take no bytes any more

 private:
  // The data that the senders of one node get: over wires, or in windows.
  class Taker final : public ReadTaker {
   public:
    Taker(RingRig& rig, std::uint32_t n) : rig_(rig), node_(n) {}

    bool has_room(SenderId sender) const override {
      if (sender < first_upstream) return !rig_.gone.contains({node_, sender});
      const Way& way = rig_.ways[sender - first_upstream];
      return way.open && way.answers_come && way.wire->wanted.size() < rig_.data_room;
    }
    void wanted(SenderId sender, std::uint32_t request, std::uint32_t position,
                std::span<const std::byte> bytes) override {
      if (sender >= first_upstream) {
        wire(sender).wanted.push_back({request, {bytes.begin(), bytes.end()}});
        wire(sender).bytes_back += bytes.size();
        return;
      }
      auto& window = rig_.windows_[{node_, sender, request}];
      if (window.size() < position + bytes.size()) window.resize(position + bytes.size());
      std::ranges::copy(bytes, window.begin() + position);
    }

   private:
    Wire& wire(SenderId sender) { return *rig_.ways[sender - first_upstream].wire; }

    RingRig& rig_;
    std::uint32_t node_;
  };

  void open(std::uint32_t n, const FileSettings& settings) {
    const std::vector<transport::TcpAddress> addresses(node.size(), transport::TcpAddress{{}, 1, 0});
    const transport::Routing routing = plan_.topology == chain.topology
                                           ? transport::chain_of(addresses, n)
                                           : transport::routing_of(plan_, addresses, n);
    for (SenderId r = 0; r < ranks_; ++r) {
      Route route;
      route.stripe_bytes = routing.stripe_bytes;
      for (std::uint32_t lane = 0; lane < routing.lanes; ++lane) {
        LaneRoute& way = route.lanes.emplace_back();
        way.upstreams = routing.hops[lane].upstreams;
        way.keeps = routing.hops[lane].keeps != 0;
        if (routing.hops[lane].next.port == 0) continue;
        auto wire = std::make_shared<Wire>();
        if (r == 0) ways.push_back({n, routing.hops[lane].node, lane, wire});
        way.next = std::make_unique<MemoryCarrier>(wire);
      }
      transport::Register registration{};
      registration.group = 1;
      registration.members = ranks_;
      registration.settings = settings;
      registration.routing = routing;
      auto opened = node[n]->core.open(r, Fd(::dup(file[n].get())), registration, std::move(route));
      if (!opened) std::abort();
      if (r == 0) slot.push_back(*opened);
    }
  }

  void pass(Way& way, SenderId sender) {
    Rig& there = *node[way.to];
    while (!way.wire->frames.empty()) {
      Wire::Frame& frame = way.wire->frames.front();
      switch (frame.kind) {
        case transport::Kind::write:
          if (there.core.holds_back(sender, slot[way.to], way.lane)) return;
          if (!there.core.ready(slot[way.to], way.lane)) return;
          there.core.write(sender, slot[way.to], frame.extent.begin, frame.data);
          break;
        case transport::Kind::mark:
          there.core.mark(sender, slot[way.to], frame.extent.begin);
          break;
        case transport::Kind::close:
          there.core.close(sender, slot[way.to], frame.request, {});
          break;
        case transport::Kind::want: {
          std::vector<Extent> extents;
          if (!transport::read_want_list(frame.data, extents)) std::abort();
          there.core.want(sender, slot[way.to], frame.request, extents);
          break;
        }
        default:
          there.core.ask(frame.kind, sender, slot[way.to], frame.request, frame.extent);
      }
      way.wire->frames.pop_front();
    }
    if (!way.answers_come) return;
    for (auto reply = there.replies.begin(); reply != there.replies.end();) {
      if (reply->first.first != sender) {
        ++reply;
        continue;
      }
      way.wire->answers.push_back({reply->first.second, reply->second});
      reply = there.replies.erase(reply);
    }
  }

  transport::RoutePlan plan_;
  std::uint32_t ranks_;
  bool backwards_ = false;
  std::map<std::tuple<std::uint32_t, SenderId, std::uint32_t>, std::vector<std::byte>> windows_;
};

}  // namespace millrace::agent
