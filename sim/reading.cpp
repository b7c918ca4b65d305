// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "client/view/typemap.hpp"
#include "draws.hpp"
#include "times.hpp"

namespace millrace::sim {

namespace {

using Kind = Step::Kind;

constexpr std::uint64_t phase_bytes = 1 * MiB;  // that a rank reads in one phase, about
constexpr std::uint64_t pieces_max = 200;       // of one read

// Makes the programs of the ranks, step by step.
class Programs {
 public:
  Programs(Dice& dice, Scenario& scenario)
      : dice_(dice), scenario_(scenario), ranks_(scenario.programs.size()) {
    const std::uint64_t bytes = scenario.file_bytes;
    cell_ = dice.magnitude(16, std::min<std::uint64_t>(bytes / ranks_ + 1, 64 * KiB));
    add_views();
  }

  void make() {
    const bool keeps = dice_.one_in(2);  // ranks keep the handle by which they write
    fill();
    all({Kind::sync, Kind::barrier});
    if (!keeps) all({Kind::close});
    for (std::uint64_t round = dice_.between(1, 2); round > 0; --round) {
      if (!keeps) all({Kind::settle, Kind::barrier});
      all({Kind::open_reader, Kind::barrier});
      dice_.one_in(2) ? read_one_sequence(keeps) : read_phases(keeps);
      all({Kind::close_reader});
      if (round == 1) break;
      if (keeps) all({Kind::sync});
      all({Kind::barrier});
      shift_ = dice_.below(ranks_);
      if (!keeps) all({Kind::settle, Kind::barrier, Kind::open, Kind::barrier});
      write_some(20);
      all({Kind::sync, Kind::barrier});
      if (!keeps) all({Kind::close});
    }
    if (keeps) all({Kind::close});
  }

  // A first opening fills the file. The further ones read it, and go on after some ranks have written.
  void make_until_written() {
    fill();
    all({Kind::sync, Kind::barrier, Kind::close});
    for (std::uint64_t round = dice_.between(1, 3); round > 0; --round) {
      all({Kind::settle, Kind::barrier, Kind::open, Kind::barrier});
      const bool writes = !dice_.one_in(4);
      dice_.one_in(2) ? read_one_sequence(writes) : read_phases(writes);
      if (dice_.one_in(2)) all({Kind::sync, Kind::tell_writes, Kind::barrier});
      all({Kind::close});
    }
  }

 private:
  // A view of the file, and what a read needs to know about it.
  struct Seen {
    std::uint64_t bytes;  // of data
    std::uint64_t piece;
  };

  void all(std::initializer_list<Kind> kinds) {
    for (const Kind kind : kinds) {
      for (auto& program : scenario_.programs) program.push_back({kind});
    }
  }

  void add_view(std::uint64_t displacement, client::TypeMap map, std::uint64_t piece) {
    auto shared = std::make_shared<const client::TypeMap>(std::move(map));
    const client::FileView view(displacement, 1, std::move(shared));
    if (!view.usable()) return;
    views_.push_back({view.position_of(scenario_.file_bytes), piece});
    scenario_.reads.views.push_back(view);
  }

  // The file, a view for each rank that interleaves with those of the others, and a view with two sizes of
  // pieces.
  void add_views() {
    add_view(0, client::contiguous_type(1), UINT64_MAX);
    const std::uint64_t piece = dice_.magnitude(1, std::min<std::uint64_t>(cell_, 16 * KiB));
    for (std::uint64_t rank = 0; rank < ranks_; ++rank)
      add_view(rank * piece,
               client::resized(client::contiguous_type(piece), 0, static_cast<std::int64_t>(piece * ranks_)),
               piece);
    const client::TypeMap byte = client::contiguous_type(1);
    const std::vector<client::TypeBlock> blocks{{0, piece},
                                                {static_cast<std::int64_t>(2 * piece), piece * 2}};
    add_view(dice_.below(piece + 1),
             client::resized(client::hindexed(byte, blocks), 0, static_cast<std::int64_t>(6 * piece)), piece);
  }

  void fill() {
    const std::uint64_t part = scenario_.file_bytes / ranks_ + 1;
    for (std::uint64_t rank = 0; rank < ranks_; ++rank) {
      const std::uint64_t end = std::min((rank + 1) * part, scenario_.file_bytes);
      const std::uint64_t most = 256 * KiB;
      for (std::uint64_t at = rank * part; at < end; at += most)
        scenario_.programs[rank].push_back({Kind::write, 1, {at, std::min(at + most, end)}});
    }
  }

  void write(std::uint64_t rank) { write_near(rank, dice_.below(scenario_.file_bytes)); }

  // Writes bytes of the rank's cell in the row of this offset.
  void write_near(std::uint64_t rank, std::uint64_t offset) {
    const std::uint64_t index = offset / (cell_ * ranks_) * ranks_ + (rank + shift_) % ranks_;
    const Extent cell = intersection({index * cell_, (index + 1) * cell_}, {0, scenario_.file_bytes});
    if (cell.empty()) return;
    const std::uint64_t begin = cell.begin + dice_.below(cell.size());
    scenario_.programs[rank].push_back({Kind::write, 1, {begin, dice_.between(begin + 1, cell.end)}});
  }

  void write_some(std::uint64_t most) {
    for (std::uint64_t rank = 0; rank < ranks_; ++rank) {
      for (std::uint64_t i = dice_.below(most + 1); i > 0; --i) write(rank);
    }
  }

  void read(std::uint64_t rank, std::uint32_t view, std::uint64_t begin, std::uint64_t bytes) {
    const std::uint64_t all = views_[view].bytes;
    if (begin >= all) return;
    Step step{Kind::read_through, 1, {begin, begin + std::min(bytes, all - begin)}};
    step.view = view;
    scenario_.programs[rank].push_back(step);
  }

  std::uint64_t transfer(std::uint32_t view) {
    const std::uint64_t piece = views_[view].piece;
    const std::uint64_t most = piece < UINT64_MAX / pieces_max ? piece * pieces_max : UINT64_MAX;
    return dice_.magnitude(1, std::min<std::uint64_t>(most, 128 * KiB));
  }

  // Each read begins `step` bytes after the one before.
  void read_evenly(std::uint64_t rank, std::uint32_t view, std::uint64_t begin, std::uint64_t bytes,
                   std::uint64_t step) {
    for (std::uint64_t i = 0; i < std::clamp<std::uint64_t>(phase_bytes / bytes, 4, 60); ++i)
      read(rank, view, begin + i * step, bytes);
  }

  void read_in_order(std::uint64_t rank, std::uint32_t view) {
    const std::uint64_t bytes = transfer(view);
    read_evenly(rank, view, dice_.one_in(2) ? 0 : dice_.below(views_[view].bytes), bytes, bytes);
  }

  void read_at_stride(std::uint64_t rank, std::uint32_t view) {
    const std::uint64_t bytes = transfer(view);
    read_evenly(rank, view, rank * bytes, bytes, bytes + dice_.magnitude(1, 4 * bytes));
  }

  void read_nested(std::uint64_t rank, std::uint32_t view) {
    const std::uint64_t bytes = std::min<std::uint64_t>(transfer(view), 16 * KiB);
    const std::uint64_t inner = dice_.between(2, 6), step = 2 * bytes;
    const std::uint64_t outer = step * inner + dice_.magnitude(1, 64 * KiB);
    for (std::uint64_t i = 0; i < 8; ++i) {
      for (std::uint64_t j = 0; j < inner; ++j) read(rank, view, i * outer + j * step, bytes);
    }
  }

  void read_at_random(std::uint64_t rank, std::uint32_t view) {
    for (std::uint64_t i = dice_.between(2, 12); i > 0; --i) {
      const std::uint64_t bytes = transfer(view);
      read(rank, view, dice_.below(views_[view].bytes), bytes);
    }
  }

  // Some writes go past the pipeline.
  void turn(std::uint64_t rank) {
    if (!dice_.one_in(4)) return;
    scenario_.programs[rank].push_back({dice_.one_in(2) ? Kind::direct : Kind::pipeline});
  }

  // A rank reads what it has just written, by the other handle.
  void read_back(std::uint64_t rank) {
    std::vector<Step>& program = scenario_.programs[rank];
    turn(rank);
    write(rank);
    if (program.empty() || program.back().kind != Kind::write) return;
    const Extent written = program.back().extent;
    const std::uint64_t before = std::min<std::uint64_t>(written.begin, dice_.below(KiB));
    read(rank, 0, written.begin - before, written.size() + before + dice_.below(KiB));
  }

  void read_phase(bool writes) {
    shift_ = dice_.below(ranks_);
    const bool alike = dice_.one_in(2);
    const std::uint64_t common = dice_.below(5);
    for (std::uint64_t rank = 0; rank < ranks_; ++rank) {
      for (std::uint64_t turns = dice_.between(1, 2); turns > 0; --turns) {
        const std::uint64_t views = scenario_.reads.views.size();
        auto view = static_cast<std::uint32_t>(dice_.one_in(2) ? 0 : std::min(1 + rank, views - 1));
        if (dice_.one_in(6)) view = static_cast<std::uint32_t>(views - 1);
        if (views_[view].bytes == 0) view = 0;
        using Read = void (Programs::*)(std::uint64_t, std::uint32_t);
        constexpr Read ways[] = {&Programs::read_at_stride, &Programs::read_nested, &Programs::read_at_random,
                                 &Programs::read_in_order, &Programs::read_in_order};
        (this->*ways[alike ? common : dice_.below(5)])(rank, view);
        for (std::uint64_t i = writes ? dice_.below(4) : 0; i > 0; --i) read_back(rank);
        if (dice_.one_in(8)) read(rank, 0, 0, scenario_.file_bytes);
      }
    }
  }

  // Ranks that write meanwhile follow MPI's rules: sync, barrier, sync. A collective function has the same
  // effect.
  void order() {
    const bool syncs = !dice_.one_in(3);
    all({syncs ? Kind::sync : Kind::arrive});
    if (syncs && scenario_.reads.until_written) all({Kind::tell_writes});
    all({Kind::barrier});
    if (syncs && !scenario_.reads.until_written) all({Kind::sync_reader});
    // A collective write begins: from now on all ranks read the file themselves.
    if (scenario_.reads.until_written && dice_.one_in(6)) all({Kind::leave});
  }

  // The ranks go on where they were after each order, and bytes that they have asked for have changed.
  void read_one_sequence(bool writes) {
    const std::uint64_t bytes =
        dice_.magnitude(1, std::min<std::uint64_t>(scenario_.file_bytes / 8, 32 * KiB));
    const std::uint64_t step = dice_.one_in(2) ? bytes : bytes + dice_.magnitude(1, 2 * bytes);
    std::vector<std::uint64_t> next(ranks_, 0);
    for (std::uint64_t& begin : next) begin = dice_.one_in(2) ? 0 : dice_.below(scenario_.file_bytes / 2);
    for (std::uint64_t turns = dice_.between(2, 4); turns > 0; --turns) {
      shift_ = dice_.below(ranks_);
      for (std::uint64_t rank = 0; rank < ranks_; ++rank) {
        for (std::uint64_t i = dice_.between(3, 10); i > 0; --i, next[rank] += step) {
          if (writes && dice_.one_in(8)) {
            turn(rank);
            write_near(rank, next[rank] + dice_.below(2 * step));
          }
          read(rank, 0, next[rank], bytes);
        }
      }
      if (turns == 1 || !writes) continue;
      for (std::uint64_t rank = 0; rank < ranks_; ++rank) {
        for (std::uint64_t i = dice_.between(1, 6); i > 0; --i)
          write_near(rank, next[dice_.below(ranks_)] + dice_.below(4 * step));
      }
      order();
    }
  }

  void read_phases(bool writes) {
    for (std::uint64_t phase = dice_.between(1, 3); phase > 0; --phase) {
      read_phase(writes && dice_.one_in(2));
      if (phase == 1) break;
      if (writes) {
        if (dice_.one_in(2)) all({Kind::barrier});
        write_some(6);
        order();
      } else if (dice_.one_in(2)) {
        all({Kind::sync_reader, Kind::barrier});
      }
    }
  }

  Dice& dice_;
  Scenario& scenario_;
  const std::uint64_t ranks_;
  std::uint64_t cell_;       // cell i belongs to rank (i + shift_) modulo ranks
  std::uint64_t shift_ = 0;  // changes when all earlier writes are in order
  std::vector<Seen> views_;
};

// Some ranks make their first read after others of their node have come to the close, and some read nothing.
void make_late(Scenario& scenario) {
  Dice late(scenario.seed ^ 0x1A7E5);
  const auto reads = [](const Step& step) { return step.kind == Kind::read_through; };
  for (auto& program : scenario.programs) {
    const bool idle = late.one_in(8);
    const std::uint64_t waits_ns = late.magnitude(ms, 3 * second);
    if (idle) {
      std::erase_if(program, reads);
    } else if (late.one_in(3)) {
      program.insert(std::ranges::find_if(program, reads), {Kind::rest, 1, {}, waits_ns});
    }
  }
}

// The times of the faults are those of the reads.
Fault make_read_fault(Dice& dice, const Scenario& scenario, bool writes) {
  Fault fault = make_fault(dice, scenario);
  const std::vector<FaultKind> kinds{FaultKind::cut,        FaultKind::cut,        FaultKind::kill_agent,
                                     FaultKind::kill_agent, FaultKind::read_error, FaultKind::kill_ranks,
                                     FaultKind::pause,      FaultKind::delay,      FaultKind::corrupt,
                                     FaultKind::cut_short};
  fault.kind = kinds[dice.below(kinds.size())];
  const bool spoils = fault.kind == FaultKind::cut_short || fault.kind == FaultKind::read_error;
  if (spoils && writes) fault.kind = FaultKind::pause;
  fault.at_ns = dice.magnitude(ms / 100, 200 * ms);
  fault.for_ns = dice.one_in(4) ? 100 * second : dice.magnitude(ms, 2 * second);
  fault.amount = dice.magnitude(1, 30) - 1;
  if (fault.kind == FaultKind::delay) fault.amount = dice.magnitude(ms / 10, 500 * ms);
  if (fault.kind == FaultKind::cut_short) fault.amount = dice.below(scenario.file_bytes);
  return fault;
}

}  // namespace

Scenario make_reading(std::uint64_t seed) {
  Dice dice(seed ^ 0x2EAD);
  Scenario scenario;
  scenario.seed = seed;
  set_machine(dice, scenario);
  scenario.nodes = std::max(scenario.nodes, 2U);
  set_file(dice, scenario);
  // An agent with less memory may refuse a further open.
  scenario.settings.sort_buffer_bytes = std::max(scenario.settings.sort_buffer_bytes, 4 * MiB);
  scenario.reads.plan = scenario.plan;
  scenario.reads.plan.topology =
      dice.pick({Topology::direct, Topology::direct, Topology::ring, Topology::tree});
  scenario.reads.plan.lanes = static_cast<std::uint32_t>(dice.between(1, std::min(scenario.nodes, 4U)));
  scenario.programs.resize(std::size_t{scenario.nodes} * scenario.ranks_per_node);
  scenario.reads.until_written = seed >= first_until_written_seed;
  Programs programs(dice, scenario);
  scenario.reads.until_written ? programs.make_until_written() : programs.make();
  const bool keeps = scenario.programs.front().back().kind == Kind::close;
  for (std::uint64_t i = dice.one_in(2) ? 0 : dice.between(1, 2); i > 0; --i)
    scenario.reads.faults.push_back(make_read_fault(dice, scenario, keeps || dice.one_in(2)));
  if (scenario.reads.until_written) scenario.reads.plan = scenario.plan;
  scenario.reads.meets_late = !scenario.reads.until_written &&
                              scenario.reads.plan.topology == Topology::direct &&
                              Dice(seed ^ 0x1A7E).one_in(2);
  if (Dice(seed ^ 0x1A7E4).one_in(4)) make_late(scenario);
  // Some reads return before their bytes have come.
  Dice early(seed ^ 0x1AEAD);
  for (auto& program : scenario.programs) {
    for (Step& step : program) {
      if (early.one_in(2) && step.kind == Kind::read_through && seed % 2 == 0)
        step.on_their_way = static_cast<std::uint32_t>(early.between(1, 6));
    }
  }
  // A sender may go at any step of its list.
  Dice death(seed ^ 0xDEAD);
  if (death.one_in(8)) scenario.reads.dies_at = death.magnitude(1, 100);
  return scenario;
}

}  // namespace millrace::sim
