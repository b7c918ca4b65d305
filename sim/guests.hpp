// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ranks and handles without a part in the pipeline. Each kind has its own dice. The constants of these dice
// must not change, because docs/results/faults.md names seeds.
namespace millrace::sim {

struct Scenario;

// Some ranks cannot start an agent, some read by a second handle.
void add_guests(Scenario& scenario);

// In some runs of several nodes, one rank does not open the file with the others. It reads the file by a
// handle of its own.
void add_onlooker(Scenario& scenario);

// In some runs that kill ranks and agent, a rank overwrites bytes of the ledger before the kill. That rank
// cannot start an agent, or has turned the pipeline off.
void add_overwriting(Scenario& scenario);

}  // namespace millrace::sim
