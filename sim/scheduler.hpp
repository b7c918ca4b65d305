// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::sim {

class Dice;
struct Scenario;

// Gives some scenarios a scheduler. The scheduler signals the agents, which go on. Or it kills a node's whole
// control group, ranks and agent, while programs compute and no request covers their writes.
void add_scheduler(Scenario& scenario);
// All ranks compute in the same phase, after their writes.
void add_rest(Dice& dice, Scenario& scenario, std::uint64_t least_ns, std::uint64_t most_ns);

// A node is killed while bytes have waited in a merge for longer than write_within.
void add_merge(Scenario& scenario);

}  // namespace millrace::sim
