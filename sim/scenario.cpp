// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "scenario.hpp"

#include <algorithm>
#include <sstream>

#include "draws.hpp"
#include "times.hpp"

namespace millrace::sim {

namespace {

constexpr std::uint64_t minute = 60 * second;

// The cells that each rank may write in a phase.
struct Layout {
  std::uint64_t cell;  // bytes; cell i belongs to rank (i + shift) modulo ranks
  std::uint64_t shift;
  std::uint64_t file_bytes;
  std::uint64_t ranks;

  Extent cell_of(Dice& dice, std::uint64_t rank) const {
    const std::uint64_t rows = std::max<std::uint64_t>(1, file_bytes / cell / ranks);
    const std::uint64_t index = dice.below(rows) * ranks + (rank + shift) % ranks;
    const std::uint64_t begin = index * cell;
    return intersection({begin, begin + cell}, {0, file_bytes});
  }
};

Extent part_of(Dice& dice, Extent whole) {
  if (whole.empty() || dice.one_in(3)) return whole;
  const std::uint64_t begin = whole.begin + dice.below(whole.size());
  return {begin, begin + dice.between(1, whole.end - begin)};
}

// Some calls write several pieces, the further ones in the rank's next rows.
Step write_of(Dice& dice, const Layout& layout, Extent extent, std::uint64_t& budget) {
  const std::uint64_t stride = layout.cell * layout.ranks;
  const std::uint64_t most = std::min((layout.file_bytes - extent.end) / stride,
                                      std::min<std::uint64_t>(budget / extent.size(), 100));
  const std::uint64_t more = most > 0 && dice.one_in(4) ? dice.magnitude(1, most) : 0;
  budget -= more * extent.size();
  return {Step::Kind::write, static_cast<std::uint32_t>(1 + more), extent, stride};
}

void open(std::vector<Step>& program) {
  for (const Step::Kind kind :
       {Step::Kind::settle, Step::Kind::barrier, Step::Kind::open, Step::Kind::barrier})
    program.push_back({kind});
}

// The style of a program: some turn the pipeline off and on, some close the file and open it again, some have
// a rank that only reads.
struct Habits {
  Habits(std::uint64_t seed, std::uint64_t ranks)
      : dice(seed ^ 0xF11E),
        turns(dice.one_in(3)),
        reopens(dice.one_in(3)),
        reader(dice.one_in(4) ? dice.below(ranks) : UINT64_MAX) {}

  void turn(std::vector<Step>& program) {
    if (turns && dice.one_in(4))
      program.push_back({dice.one_in(2) ? Step::Kind::direct : Step::Kind::pipeline});
  }
  // Between two phases.
  void reopen(std::vector<std::vector<Step>>& programs) {
    if (!reopens || dice.one_in(2)) return;
    const bool waits = dice.one_in(2);  // whether the ranks wait for each other between close and open
    for (auto& program : programs) {
      program.push_back({Step::Kind::close});
      if (waits) program.push_back({Step::Kind::barrier});
      open(program);
    }
  }

  Dice dice;
  bool turns;
  bool reopens;
  std::uint64_t reader;
};

void add_phase(Dice& dice, Dice& rows, Habits& habits, std::vector<std::vector<Step>>& programs,
               const Layout& layout, std::uint64_t writes, bool syncs) {
  const Step::Kind end = syncs ? Step::Kind::sync : Step::Kind::arrive;
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    std::vector<Step>& program = programs[rank];
    std::uint64_t budget = 512 * KiB, budget_of_rows = 256 * KiB;
    for (std::uint64_t i = dice.below(writes + 1); i > 0; --i) {
      const Extent extent = part_of(dice, layout.cell_of(dice, rank));
      if (extent.empty() || extent.size() > budget || rank == habits.reader) continue;
      budget -= extent.size();
      habits.turn(program);
      program.push_back(write_of(rows, layout, extent, budget_of_rows));
      if (dice.one_in(20)) program.push_back({Step::Kind::read, 1, part_of(dice, extent)});
    }
    program.push_back({end});
    program.push_back({Step::Kind::barrier});
    Dice& whether = syncs ? rows : habits.dice;
    if (whether.one_in(3)) program.push_back({Step::Kind::read, 1, part_of(whether, {0, layout.file_bytes})});
  }
}

// A job does not outlive a lost node, so all ranks are new processes after that.
Opening make_opening(Dice& dice, Habits& habits, const Scenario& scenario, std::uint64_t cell,
                     bool recovers) {
  Opening opening;
  const std::vector<Fault>& before = scenario.later.empty() ? scenario.faults : scenario.later.back().faults;
  opening.after_ns = dice.magnitude(ms / 100, 2 * second);
  opening.keeps_agents = dice.one_in(2);
  opening.keeps_ranks = opening.keeps_agents && dice.one_in(2) && !has_one_of(before, {FaultKind::lose_node});
  opening.programs.resize(scenario.programs.size());
  const std::uint64_t ranks = scenario.programs.size(), writes = dice.magnitude(4, 100);
  for (auto& program : opening.programs) {
    open(program);
    if (dice.one_in(2)) program.push_back({Step::Kind::read, 1, part_of(dice, {0, scenario.file_bytes})});
  }
  // No rank may write the bytes of a read meanwhile.
  for (auto& program : opening.programs) program.push_back({Step::Kind::barrier});
  for (std::uint64_t phase = dice.between(1, 2); phase > 0; --phase) {
    const Layout layout{cell, dice.below(ranks), scenario.file_bytes, ranks};
    add_phase(dice, dice, habits, opening.programs, layout, writes, !dice.one_in(3));
  }
  for (auto& program : opening.programs) program.push_back({Step::Kind::close});
  for (std::uint64_t i = dice.one_in(2) ? 0 : dice.between(1, 2); i > 0; --i)
    opening.faults.push_back(make_fault(dice, scenario));
  if (dice.one_in(8)) opening.faults.push_back(make_jump(dice, scenario));
  if (recovers && dice.one_in(3)) opening.recovery_dies_ns = dice.magnitude(1'000, 20 * ms);
  opening.recovery_node = static_cast<std::uint32_t>(dice.below(scenario.nodes));
  return opening;
}

// A program is killed, or aborts, on one node or on all of them, and is started again. Launchers end a
// program that has lost a node. Agents that live on may still have bytes for that node when the file is
// opened again.
void add_abort(Scenario& scenario, std::uint64_t cell) {
  Dice dice(scenario.seed ^ 0xAB027);
  const auto loss = std::ranges::find(scenario.faults, FaultKind::lose_node, &Fault::kind);
  const bool lost = loss != scenario.faults.end();
  if (!dice.one_in(lost ? 2 : 16)) return;
  if (scenario.later.empty()) {
    Habits habits(scenario.seed ^ 0xAB027, scenario.programs.size());
    scenario.later.push_back(make_opening(dice, habits, scenario, cell, false));
  }
  Opening& next = scenario.later.front();
  next.keeps_ranks = false;
  next.keeps_agents = lost || !dice.one_in(4);
  const std::uint64_t at_ns = (lost ? loss->at_ns : 0) + dice.magnitude(ms / 100, 100 * ms);
  // There is no other fault in this case. No request covers some of the program's writes at that time.
  const bool alone = !lost && dice.one_in(2);
  if (alone) {
    scenario.faults.clear();
    add_rest(dice, scenario, 10 * ms, 200 * ms);
  }
  if (lost || alone) next.faults.clear();
  const bool all = lost || dice.one_in(2);
  const std::uint64_t one = dice.below(scenario.nodes);
  for (std::uint32_t node = 0; node < scenario.nodes; ++node) {
    if (all || node == one) scenario.faults.push_back({FaultKind::kill_ranks, at_ns, 0, node});
  }
}

}  // namespace

void set_machine(Dice& dice, Scenario& scenario) {
  scenario.nodes = static_cast<std::uint32_t>(dice.between(1, 5));
  scenario.ranks_per_node = static_cast<std::uint32_t>(dice.between(1, 3));
  scenario.ranks.ring_bytes = 64 * KiB << dice.below(4);
  scenario.net.rate_bytes_per_second = dice.pick<std::uint64_t>({12'500'000, 125'000'000, 1'250'000'000});
  scenario.net.latency_ns = dice.magnitude(2'000, 5 * ms);
  scenario.net.jitter_ns = dice.magnitude(100, ms);
  scenario.net.segment_bytes = dice.pick<std::uint64_t>({1448, 16 * KiB, 64 * KiB});
  scenario.net.send_buffer_bytes = 16 * KiB << dice.below(5);
  scenario.net.window_bytes = 16 * KiB << dice.below(5);
  scenario.disk.rate_bytes_per_second = dice.pick<std::uint64_t>({20'000'000, 200'000'000, 2'000'000'000});
  scenario.disk.seek_ns = dice.pick<std::uint64_t>({0, 50'000, ms});
  scenario.disk.cache_bytes = MiB << dice.below(7);
  scenario.disk.jitter_ns = dice.magnitude(1'000, 10 * ms);
}

void set_file(Dice& dice, Scenario& scenario) {
  FileSettings& settings = scenario.settings;
  settings.strategy =
      dice.pick({Strategy::automatic, Strategy::immediate, Strategy::sort, Strategy::journal});
  settings.merge = static_cast<std::uint32_t>(dice.below(2));
  settings.durability = dice.pick({Durability::server, Durability::disk, Durability::node});
  settings.sink = dice.one_in(4) ? SinkMode::direct : SinkMode::buffered;
  settings.sort_buffer_bytes = MiB << dice.below(4);
  settings.record_max_bytes = 4 * KiB << dice.below(4);
  scenario.plan.topology = dice.pick({Topology::direct, Topology::direct, Topology::ring, Topology::tree});
  scenario.plan.lanes = static_cast<std::uint32_t>(dice.between(1, std::min(scenario.nodes, 4U)));
  scenario.plan.stripe_bytes = MiB << dice.below(2);
  scenario.file_bytes = dice.magnitude(4 * KiB, scenario.plan.lanes > 1 ? 6 * MiB : 2 * MiB);
}

// Direct writes may sieve in runs of one node, if the agents lock the extents that they write.
void set_sweep(Scenario& scenario) {
  Dice dice(scenario.seed ^ 0x51E7E);
  if (scenario.nodes > 1 || scenario.settings.sink == SinkMode::direct || dice.one_in(3)) return;
  scenario.ranks.sweep = {dice.magnitude(KiB, 512 * KiB), dice.magnitude(16, 64 * KiB)};
}

Scenario make_scenario(std::uint64_t seed) {
  if (seed >= first_storing_seed) return make_storing(seed);
  if (seed >= first_reading_seed) return make_reading(seed);
  Dice dice(seed), rows(~seed);
  Scenario scenario;
  scenario.seed = seed;
  set_machine(dice, scenario);
  set_file(dice, scenario);
  set_start(scenario);
  // Recovery does not work for ledgers of such files on other nodes.
  scenario.stands_in = scenario.nodes > 1 && !keeps_ledger(scenario.settings) && rows.one_in(3);
  if (scenario.stands_in) scenario.plan.lanes = 1;
  const std::uint64_t ranks = std::uint64_t{scenario.nodes} * scenario.ranks_per_node;
  scenario.programs.resize(ranks);
  const bool blocks = dice.one_in(3);  // otherwise interleaved
  const std::uint64_t cell = blocks
                                 ? scenario.file_bytes / ranks + 1
                                 : dice.magnitude(1, std::min<std::uint64_t>(scenario.file_bytes, 300 * KiB));
  const std::uint64_t writes = dice.magnitude(4, 200);
  Habits habits(seed, ranks);
  for (std::uint64_t phase = dice.between(1, 4); phase > 0; --phase) {
    const Layout layout{cell, dice.below(ranks), scenario.file_bytes, ranks};
    add_phase(dice, rows, habits, scenario.programs, layout, writes, !dice.one_in(3));
    if (phase > 1) habits.reopen(scenario.programs);
  }
  for (auto& program : scenario.programs) program.push_back({Step::Kind::close});
  for (std::uint64_t i = dice.one_in(4) ? 0 : dice.between(1, 3); i > 0; --i)
    scenario.faults.push_back(make_fault(dice, scenario));
  Dice later(seed ^ 0xA5A5A5A5);
  if (later.one_in(8)) scenario.faults.push_back(make_jump(later, scenario));
  const auto crashes = [](const std::vector<Fault>& faults) {
    return has_one_of(faults, {FaultKind::kill_agent, FaultKind::lose_node, FaultKind::kill_group});
  };
  bool crashed = crashes(scenario.faults);
  for (int openings = 0; openings < 2 && later.one_in(crashed ? 2 : 10); ++openings) {
    scenario.later.push_back(make_opening(later, habits, scenario, cell, crashed));
    crashed = crashes(scenario.later.back().faults);
  }
  add_abort(scenario, cell);
  add_stages(scenario);
  add_meanwhile(scenario);
  add_guests(scenario);
  scenario.conduct.apart = scenario.nodes > 1 && !scenario.stands_in && Dice(seed ^ 0xA9A27).one_in(6);
  add_scheduler(scenario);
  add_onlooker(scenario);
  add_overwriting(scenario);
  add_thought(scenario);
  set_sweep(scenario);
  add_latecomer(scenario);
  add_merge(scenario);
  scenario.disk.tells_births = seed < first_birthless_seed || Dice(seed ^ 0xB127).one_in(2);
  if (Dice(seed ^ 0x1DD7).one_in(12)) scenario.agents.write_within_ns = 60 * minute;
  return scenario;
}

bool Scenario::is_benign(const Fault& fault) const {
  if (fault.kind == FaultKind::cut && nodes == 1) return true;
  // Shorter than the bound after which a link gives up its peer.
  if (fault.kind == FaultKind::cut || fault.kind == FaultKind::pause) return fault.for_ns < 4 * second;
  if (fault.kind == FaultKind::clock_jump) return fault.amount < 4 * second;
  return fault.kind == FaultKind::slow_disk || fault.kind == FaultKind::delay ||
         fault.kind == FaultKind::terminate_agent || fault.kind == FaultKind::stall;
}

template <typename Test>
bool Scenario::all_faults(Test test) const {
  return std::ranges::all_of(faults, test) && std::ranges::all_of(reads.faults, test);
}

bool Scenario::has(std::initializer_list<FaultKind> kinds) const {
  return has_one_of(faults, kinds) || has_one_of(reads.faults, kinds);
}

bool Scenario::has_only(std::initializer_list<FaultKind> kinds) const {
  return all_faults(
      [kinds](const Fault& fault) { return std::ranges::find(kinds, fault.kind) != kinds.end(); });
}

bool Scenario::benign() const {
  return reads.dies_at == 0 && all_faults([this](const Fault& fault) { return is_benign(fault); });
}

bool Scenario::faultless() const {
  return faults.empty() && reads.faults.empty() && reads.dies_at == 0 && conduct.unable.empty() &&
         std::ranges::all_of(later, [](const Opening& one) { return one.faults.empty(); });
}

bool Scenario::only_programs_die() const {
  return all_faults(
      [this](const Fault& fault) { return fault.kind == FaultKind::kill_ranks || is_benign(fault); });
}

bool Scenario::writes_survive() const {
  return settings.strategy == Strategy::journal &&
         has_only({FaultKind::kill_agent, FaultKind::pause, FaultKind::cut, FaultKind::delay,
                   FaultKind::slow_disk, FaultKind::clock_jump, FaultKind::terminate_agent});
}

bool Scenario::keeps_the_bound() const {
  return agents.write_within_ns < minute && has_only({FaultKind::kill_group, FaultKind::terminate_agent});
}

bool Scenario::disk_fails() const {
  return has({FaultKind::full_disk, FaultKind::write_error, FaultKind::sync_error, FaultKind::close_error});
}

bool Scenario::stands_still(std::uint32_t node) const {
  return !all_faults([node](const Fault& fault) {
    return fault.kind != FaultKind::pause || fault.node != node || fault.for_ns <= 50 * second;
  });
}

std::string Scenario::describe() const {
  std::ostringstream text;
  text << "seed " << seed << ": " << nodes << " nodes x " << ranks_per_node << " ranks, strategy "
       << name_of(settings.strategy) << ", durability " << name_of(settings.durability) << ", topology "
       << name_of(plan.topology) << ", " << plan.lanes << " lanes, file of " << file_bytes << " bytes"
       << (stands_in ? " of the first node" : "") << (conduct.apart ? "\n  nodes do not work together" : "")
       << (conduct.second_handles ? "\n  ranks read by a second handle" : "");
  for (std::size_t rank = 0; rank < conduct.unable.size(); ++rank) {
    if (conduct.unable[rank]) text << "\n  rank " << rank << " can start no agent";
  }
  if (conduct.onlooker) text << "\n  rank " << *conduct.onlooker << " only looks on";
  if (agents.write_within_ns > minute) text << "\n  agents look at rings only when they are woken";
  if (agents.start)
    text << "\n  no agent is there at first: it comes within " << agents.start->takes_ns / us
         << " us, and pays from " << agents.start->costs_ps / 1'000'000 << " us on";
  if (ranks.sweep.window > 0)
    text << "\n  ranks sieve: parts of " << ranks.sweep.window << " bytes, holes of up to "
         << ranks.sweep.gap;
  if (stage) text << stage->describe();
  if (const std::string end = at_end.describe(); !end.empty()) text << "\n  at the end" << end;
  for (const Fault& fault : faults) text << sim::describe(fault);
  if (!reads.views.empty())
    text << "\n  is read through the agents" << (reads.until_written ? " until it is written" : "")
         << ": topology " << name_of(reads.plan.topology) << ", " << reads.plan.lanes << " lanes"
         << (reads.meets_late ? ", a late meeting" : "");
  for (const Fault& fault : reads.faults) text << sim::describe(fault);
  if (reads.dies_at > 0) text << "\n  ranks die at read " << reads.dies_at;
  for (const Opening& opening : later) {
    text << "\n  opened again by " << (opening.keeps_ranks ? "the same" : "other") << " ranks, "
         << (opening.keeps_agents ? "the same" : "other") << " agents, after " << opening.after_ns / us
         << " us" << opening.before.describe();
    if (opening.recovery_dies_ns > 0)
      text << "; recovery on node " << opening.recovery_node << " dies after "
           << opening.recovery_dies_ns / us << " us";
    if (opening.stage) text << opening.stage->describe();
    for (const Fault& fault : opening.faults) text << sim::describe(fault);
  }
  return text.str();
}

}  // namespace millrace::sim
