// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace::sim {

struct Scenario;

// Gives some scenarios a scheduler. It signals the agents, which go on; or it kills a
// node's whole control group, ranks and agent, while programs compute with writes that nobody has asked for.
void add_scheduler(Scenario& scenario);

}  // namespace millrace::sim
