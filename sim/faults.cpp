// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "faults.hpp"

#include <algorithm>

#include "times.hpp"

namespace millrace::sim {

Fault make_fault(Dice& dice, const Scenario& scenario) {
  Fault fault{};
  fault.kind =
      dice.pick({FaultKind::slow_disk, FaultKind::full_disk, FaultKind::write_error, FaultKind::sync_error,
                 FaultKind::cut, FaultKind::cut, FaultKind::delay, FaultKind::pause, FaultKind::corrupt,
                 FaultKind::kill_agent, FaultKind::kill_agent, FaultKind::lose_node});
  fault.at_ns = dice.magnitude(ms / 100, 2 * second);
  fault.for_ns = dice.magnitude(ms, 2 * second);
  fault.node = static_cast<std::uint32_t>(dice.below(scenario.nodes));
  fault.other = static_cast<std::uint32_t>((fault.node + dice.between(1, std::max(scenario.nodes, 2U) - 1)) %
                                           scenario.nodes);
  switch (fault.kind) {
    case FaultKind::slow_disk:
      fault.amount = dice.between(2, 8);
      break;
    case FaultKind::full_disk:
      fault.amount = dice.below(scenario.file_bytes);
      break;
    case FaultKind::cut:
    case FaultKind::pause:
      if (dice.one_in(2)) fault.for_ns = 100 * second;
      break;
    case FaultKind::delay:
      fault.amount = dice.magnitude(ms / 10, 500 * ms);
      break;
    default:
      fault.amount = dice.magnitude(1, 100) - 1;
  }
  return fault;
}

Fault make_jump(Dice& dice, const Scenario& scenario) {
  Fault fault{FaultKind::clock_jump};
  fault.at_ns = dice.magnitude(ms / 100, 2 * second);
  fault.node = static_cast<std::uint32_t>(dice.below(scenario.nodes));
  fault.amount = dice.magnitude(ms, 300 * second);
  return fault;
}

bool crashes(const std::vector<Fault>& faults) {
  return std::ranges::any_of(faults, [](const Fault& fault) {
    return fault.kind == FaultKind::kill_agent || fault.kind == FaultKind::lose_node ||
           fault.kind == FaultKind::kill_group;
  });
}

bool loses_a_node(const std::vector<Fault>& faults) {
  return std::ranges::any_of(faults, [](const Fault& fault) { return fault.kind == FaultKind::lose_node; });
}

const char* name_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::slow_disk:
      return "fault: slow disk, times";
    case FaultKind::full_disk:
      return "fault: full disk, at bytes";
    case FaultKind::write_error:
      return "fault: a write fails, after";
    case FaultKind::sync_error:
      return "fault: a datasync fails, after";
    case FaultKind::cut:
      return "fault: cut, for ns";
    case FaultKind::delay:
      return "fault: delay, ns";
    case FaultKind::pause:
      return "fault: paused, for ns";
    case FaultKind::corrupt:
      return "fault: a wrong bit is to come";
    case FaultKind::kill_agent:
      return "fault: agent killed";
    case FaultKind::lose_node:
      return "fault: node lost";
    case FaultKind::clock_jump:
      return "fault: the clock jumps, ns";
    case FaultKind::terminate_agent:
      return "fault: agent is sent SIGTERM";
    case FaultKind::kill_group:
      return "fault: agent and ranks killed at once";
    case FaultKind::kill_ranks:
      return "fault: ranks killed";
    case FaultKind::read_error:
      return "fault: a read fails, after";
    case FaultKind::cut_short:
      return "fault: the file is cut short, to bytes";
    case FaultKind::close_error:
      return "fault: a close tells of lost bytes, after";
    case FaultKind::stall:
      return "fault: the file system stalls, for ns";
  }
  return "";
}

std::string describe(const Fault& fault) {
  return "\n  " + std::string(name_of(fault.kind)) + " " + std::to_string(fault.amount) + ", node " +
         std::to_string(fault.node) + " (" + std::to_string(fault.other) + "), from " +
         std::to_string(fault.at_ns / 1000) + " us for " + std::to_string(fault.for_ns / 1000) + " us";
}

}  // namespace millrace::sim
