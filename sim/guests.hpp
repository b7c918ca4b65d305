// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ranks, and handles, that have no part in the pipeline, each kind chosen by dice of its own. The constants
// of the dice are such that the seeds that docs/results/faults.md named before are the same runs.
namespace millrace::sim {

struct Scenario;

// Some ranks can start no agent, some read by a second handle.
void add_guests(Scenario& scenario);

// In some runs of several nodes, a rank is not among those that open the file. It reads the file by a handle
// of its own.
void add_onlooker(Scenario& scenario);

// In some runs whose ranks and agent are killed, a rank that can start no agent, or has turned the pipeline
// off, has written before over bytes of the ledger.
void add_overwriting(Scenario& scenario);

}  // namespace millrace::sim
