// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs in which no agent runs at first. A rank starts one when its account of the file says that an agent
// would already have saved the time of its start. Until then the rank writes past the pipeline. So some ranks
// of a node write directly while others use the pipeline. These runs have dice of their own, as in
// guests.hpp.
namespace millrace::sim {

struct Scenario;

// Applies to some runs of one node.
void set_start(Scenario& scenario);

// The ranks of such a run compute now and then, each for another time. So the agent starts early in the
// programs of some ranks, and late in those of others.
void add_thought(Scenario& scenario);

}  // namespace millrace::sim
