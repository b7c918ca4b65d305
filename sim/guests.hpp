// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ranks and handles without a part in the pipeline. Each kind has its own dice. Their constants keep the runs
// of the seeds in docs/results/faults.md.
namespace millrace::sim {

struct Scenario;

// Some ranks can start no agent, some read by a second handle.
void add_guests(Scenario& scenario);

// In some runs of several nodes, one rank does not open the file with the others. It reads the file by a
// handle of its own.
void add_onlooker(Scenario& scenario);

// In some runs with a kill of ranks and agent, a rank has overwritten bytes of the ledger before. That rank
// can start no agent, or has turned the pipeline off.
void add_overwriting(Scenario& scenario);

}  // namespace millrace::sim
