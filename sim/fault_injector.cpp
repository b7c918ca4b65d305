// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "fault_injector.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "cluster.hpp"

namespace millrace::sim {

namespace {

constexpr std::uint64_t dying_ns = 8'000;  // a few rounds of an agent

// The error of a disk, or of a file server that does not answer.
int errno_of(const Fault& fault) { return fault.amount % 2 == 0 ? EIO : ETIMEDOUT; }

bool lasts(FaultKind kind) {
  return kind == FaultKind::slow_disk || kind == FaultKind::stall || kind == FaultKind::cut ||
         kind == FaultKind::delay || kind == FaultKind::pause;
}

}  // namespace

void FaultInjector::plan(const std::vector<Fault>& faults) {
  for (const Fault& fault : faults)
    planned_.push_back(cluster_.world.timeline.after(fault.at_ns, [this, fault] { befall(fault); }));
}

void FaultInjector::begin_reads() {
  if (!std::exchange(reads_began_, true)) plan(cluster_.scenario.reads.faults);
}

void FaultInjector::begin_read(std::uint32_t node) {
  if (++reads_ == cluster_.scenario.reads.dies_at)
    plan({{FaultKind::kill_ranks, cluster_.world.timeline.below(dying_ns), 0, node}});
}

void FaultInjector::calm(std::uint64_t after_ns) {
  io::Timeline& timeline = cluster_.world.timeline;
  for (const io::Timeline::Event& fault : std::exchange(planned_, {})) timeline.cancel(fault);
  bool passed = false;
  timeline.at(std::max(timeline.now_ns(), calm_ns_) + after_ns, [&passed] { passed = true; });
  while (!passed) (void)timeline.step();
  cluster_.world.disk.faults().repair();
  cluster_.world.net.repair();
}

void FaultInjector::befall(const Fault& fault) {
  World& world = cluster_.world;
  Node& node = *cluster_.nodes[fault.node];
  io::DiskFaults& disk = world.disk.faults();
  world.note(fault.node, name_of(fault.kind), fault.amount, fault.for_ns, fault.other);
  if (lasts(fault.kind)) calm_ns_ = std::max(calm_ns_, world.now_ns() + fault.for_ns);
  switch (fault.kind) {
    case FaultKind::slow_disk:
      disk.slow(fault.amount);
      return (void)world.timeline.after(fault.for_ns, [&disk] { disk.slow(1); });
    case FaultKind::full_disk:
      return disk.set_capacity(fault.amount);
    case FaultKind::write_error:
      return disk.fail(io::Op::write, fault.amount, errno_of(fault));
    case FaultKind::sync_error:
      return disk.fail(io::Op::datasync, fault.amount, errno_of(fault));
    case FaultKind::close_error:
      return disk.fail(io::Op::close, fault.amount, EIO);
    case FaultKind::read_error:
      return disk.fail(io::Op::read, fault.amount, EIO);
    case FaultKind::stall:
      return disk.stall(fault.for_ns);
    case FaultKind::cut:
      world.net.cut(fault.node, fault.other);
      return (void)world.timeline.after(fault.for_ns,
                                        [&world, fault] { world.net.heal(fault.node, fault.other); });
    case FaultKind::delay:
      world.net.delay(fault.node, fault.amount);
      return (void)world.timeline.after(fault.for_ns, [&world, fault] { world.net.delay(fault.node, 0); });
    case FaultKind::corrupt:
      return world.net.corrupt(fault.node);
    case FaultKind::pause:
      return node.pause(fault.for_ns);
    case FaultKind::terminate_agent:
      return node.terminate();
    case FaultKind::clock_jump:
      return node.jump(fault.amount);
    case FaultKind::kill_agent:
      return crash(fault.node, false, false);
    case FaultKind::lose_node:
      return crash(fault.node, true, true);
    case FaultKind::kill_group:
      cluster_.judge.acknowledge_old(fault.node);
      return crash(fault.node, false, true);
    case FaultKind::kill_ranks:
      return cluster_.job.kill(fault.node);
    case FaultKind::cut_short:
      cluster_.judge.oracle().cut(fault.amount);
      return world.disk.truncate(0, fault.amount);
  }
}

// The node's agent dies. `host`: the host dies too. `ranks`: the node's ranks die too.
void FaultInjector::crash(std::uint32_t node, bool host, bool ranks) {
  crashed_ = true;
  for (const Rank& rank : cluster_.job.ranks()) {
    if (cluster_.scenario.agents.start && rank.node() == node && rank.process().has_joined())
      cluster_.judge.oracle().forget_order(rank.number());
  }
  Node& crashing = *cluster_.nodes[node];
  if (host || crashing.named()) crashing.crash(host);
  if (ranks) cluster_.job.kill(node);
}

}  // namespace millrace::sim
