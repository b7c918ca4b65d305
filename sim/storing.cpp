// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "draws.hpp"
#include "times.hpp"

namespace millrace::sim {

// The faults of the ordinary run with this number are gone: each of them explains errors.
Scenario make_storing(std::uint64_t seed) {
  Scenario scenario = make_scenario(seed - first_storing_seed + 1);
  scenario.seed = seed;
  scenario.faults.clear();
  scenario.reads.faults.clear();
  for (Opening& opening : scenario.later) opening.faults.clear();
  Dice dice(seed ^ 0x57A11ED);
  // A reader's descriptor is open for reading only, and its close tells nothing. The disk does not know that.
  const bool reads = !scenario.reads.views.empty();
  const bool stalls = reads || dice.one_in(2);
  if (stalls) {
    Fault fault{FaultKind::stall};
    fault.at_ns = dice.magnitude(ms / 100, 2 * second);
    // An open of a file whose ledger drains waits for two minutes without progress (client/file/ledgers.cpp),
    // and a file that is left to others then is no matter of the storage.
    fault.for_ns = dice.magnitude(second, (keeps_ledger(scenario.settings) ? 50 : 600) * second);
    scenario.faults.push_back(fault);
  }
  if (!reads && (!stalls || dice.one_in(3))) {
    Fault fault{FaultKind::close_error};
    fault.amount = dice.below(3);
    scenario.faults.push_back(fault);
  }
  return scenario;
}

}  // namespace millrace::sim
