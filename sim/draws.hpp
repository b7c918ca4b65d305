// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "dice.hpp"
#include "scenario.hpp"

// The draws of scenarios: machines, faults, and what only some runs have. Most of them have dice of their
// own. The constants of these dice must not change, because tests, found.txt and mutants/bugs.txt name seeds.
namespace millrace::sim {

void set_machine(Dice& dice, Scenario& scenario);
void set_file(Dice& dice, Scenario& scenario);

// --- Faults (faults.cpp) ---

Fault make_fault(Dice& dice, const Scenario& scenario);
Fault make_jump(Dice& dice, const Scenario& scenario);
bool has_one_of(const std::vector<Fault>& faults, std::initializer_list<FaultKind> kinds);
std::string describe(const Fault& fault);

// --- Reads through the agents (reading.cpp), and slow file systems (storing.cpp) ---

// Half of the runs from here on are on a file system that tells no times of birth, such as many of FUSE: a
// file with the number of an earlier one looks like it.
inline constexpr std::uint64_t first_birthless_seed = 500'000;
// Seeds from here on are runs in which ranks of several nodes read a file through the agents (ADR 24). Ranks
// write the file first. They read it in order, at a stride, nested, at random and by views. Some write
// meanwhile by another handle, or change the file before they open it for reading once more.
inline constexpr std::uint64_t first_reading_seed = 1'000'000;
// From here on, they read and write by one handle, and read through the agents until the file is written.
inline constexpr std::uint64_t first_until_written_seed = 2'000'000;
Scenario make_reading(std::uint64_t seed);
// Seeds from here on make runs on a file system like a network's: close(2) tells that accepted bytes were
// lost, and no request is answered for minutes.
inline constexpr std::uint64_t first_storing_seed = 5'000'000;
Scenario make_storing(std::uint64_t seed);

// --- Ranks and handles without a part in the pipeline (guests.cpp) ---

// Some ranks cannot start an agent, some read by a second handle.
void add_guests(Scenario& scenario);

// In some runs of several nodes, one rank does not open the file with the others. It reads the file by a
// handle of its own.
void add_onlooker(Scenario& scenario);

// In some runs that kill ranks and agent, a rank overwrites bytes of the ledger before the kill. That rank
// cannot start an agent, or has turned the pipeline off.
void add_overwriting(Scenario& scenario);

// --- Schedulers (scheduler.cpp) ---

// Gives some scenarios a scheduler. The scheduler signals the agents, which go on. Or it kills a node's whole
// control group, ranks and agent, while programs compute and no request covers their writes.
void add_scheduler(Scenario& scenario);
// All ranks compute in the same phase, after their writes.
void add_rest(Dice& dice, Scenario& scenario, std::uint64_t least_ns, std::uint64_t most_ns);

// A node is killed while bytes have waited in a merge for longer than write_within.
void add_merge(Scenario& scenario);
// In some runs, one rank calls a sync, or the last close, only after all other ranks have their answers. So
// agents must not wait for it without a bound.
void add_latecomer(Scenario& scenario);

// --- Runs in which no agent runs at first (starting.cpp) ---

// A rank starts an agent when its account of the file says that an agent would already have saved the time of
// its start. Until then the rank writes past the pipeline. So some ranks of a node write directly while
// others use the pipeline.

// Applies to some runs of one node.
void set_start(Scenario& scenario);

// The ranks of such a run compute now and then, each for another time. So the agent starts early in the
// programs of some ranks, and late in those of others.
void add_thought(Scenario& scenario);

// --- Other files, and other names (stage.cpp, meanwhile.cpp) ---

// In some runs of several nodes the programs stage a file.
void add_stages(Scenario& scenario);
// Some files change between their programs and the recovery.
void add_meanwhile(Scenario& scenario);

}  // namespace millrace::sim
