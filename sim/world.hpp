// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "io/virtual/station.hpp"
#include "io/virtual/timeline.hpp"
#include "io/virtual/trace.hpp"
#include "io/virtual/virtual_disk.hpp"
#include "io/virtual/virtual_net.hpp"
#include "scenario.hpp"

namespace millrace::sim {

// The time, the network, the disk and the processors that all machines of a run share, and the trace of its
// events. Owned by Cluster. Not thread safe, because all fibers run in one thread.
struct World {
  World(const Scenario& scenario, bool keep_trace)
      : timeline(scenario.seed),
        trace(keep_trace),
        net(timeline, trace, scenario.nodes, scenario.net),
        disk(timeline, trace, scenario.nodes, scenario.disk),
        processors(timeline, {.slots = scenario.costs.cores}),
        shares_processors(scenario.costs.cores > 0) {}

  std::uint64_t now_ns() const { return timeline.now_ns(); }
  // A random time, shorter than most things take.
  std::uint64_t moment_ns() { return timeline.below(50'000); }
  // The end of work that begins now.
  std::uint64_t end_of(std::uint64_t work_ns) {
    return shares_processors ? processors.serve(0, work_ns) : now_ns() + work_ns;
  }
  void note(std::uint32_t node, const char* what, std::uint64_t a = 0, std::uint64_t b = 0,
            std::uint64_t c = 0) {
    trace.note(now_ns(), node, what, a, b, c);
  }
  void say(std::uint32_t node, const std::string& text) { trace.say(now_ns(), node, text); }

  io::Timeline timeline;
  io::Trace trace;
  io::VirtualNet net;
  io::VirtualDisk disk;
  io::Station processors;
  const bool shares_processors;  // otherwise each process has one of its own
};

}  // namespace millrace::sim
