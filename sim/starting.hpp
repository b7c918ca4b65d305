// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs without an agent at first. A rank starts one when its account of the file says that the agent would
// have paid by now; until then it writes past the pipeline. So some ranks of a node write directly while
// others use the pipeline. These runs have dice of their own, as in guests.hpp.
namespace millrace::sim {

struct Scenario;

// In some runs of one node.
void set_start(Scenario& scenario);

// The ranks of such a run think now and then, each as long as it likes, so that the agent comes for some of
// them early in their programs, and late for others.
void add_thought(Scenario& scenario);

}  // namespace millrace::sim
