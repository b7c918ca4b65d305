// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The part of Cluster that is the ranks' programs: straight code over the shipped session, each in its fiber.
// Where client::File decides something above the session, it is decided as there.
#include <algorithm>
#include <utility>

#include "cluster.hpp"

namespace millrace::sim {

using transport::Kind;

namespace {

constexpr std::uint64_t quantum_ps = 50'000'000;  // a rank works so long before others have their turn

}  // namespace

void Cluster::live(Rank& rank) {
  for (; rank.step < rank.program->size() && !rank.gone; ++rank.step) {
    pay(rank);
    take(rank, (*rank.program)[rank.step]);
  }
  if (!rank.gone) end(rank);
}

void Cluster::think(Rank& rank) {
  if (!rank.gone) rank.seat->sleep_until(timeline_.now_ns() + timeline_.below(think_ns));
}

// It works first for what it has done, and goes on then.
void Cluster::pay(Rank& rank) {
  if (rank.owed_ps < quantum_ps) return;
  rank.seat->sleep_until(processors_.take(timeline_.now_ns(), std::exchange(rank.owed_ps, 0) / 1000));
}

void Cluster::take(Rank& rank, const Step& step) {
  const bool skips = !rank.error.ok() || failed_;
  if (step.kind == Step::Kind::barrier) return meet(rank);
  if (step.kind == Step::Kind::close) return close(rank);
  if (skips || rank.gone) return;
  switch (step.kind) {
    case Step::Kind::write:
      return write(rank, step);
    case Step::Kind::read:
      return read(rank, step.extent);
    case Step::Kind::sync:
      return sync(rank);
    default:
      return arrive(rank);
  }
}

void Cluster::write(Rank& rank, const Step& step) {
  const std::uint64_t bytes = step.extent.size();
  rank.memory.resize(step.pieces * bytes);
  rank.pieces.clear();
  std::uint32_t number = 0;
  for (std::uint32_t i = 0; i < step.pieces; ++i) {
    const Extent extent = step.piece(i);
    number = oracle_.add(rank.number, extent);
    trace_.note(timeline_.now_ns(), rank.node, "writes: rank offset bytes", rank.number, extent.begin, bytes);
    const auto memory = std::span(rank.memory).subspan(i * bytes, bytes);
    oracle_.fill(number, extent.begin, memory);
    rank.pieces.push_back({extent.begin, memory.data(), memory.size()});
  }
  rank.seat->forget_waits();
  const FileSettings& settings = scenario_.settings;
  const Status status = rank.session->write(rank.file, rank.pieces, settings.record_max_bytes, rank.tally);
  if (!told(rank, status)) return;
  for (std::uint32_t i = 0; i < step.pieces; ++i) oracle_.finish(number - i);
  const std::uint64_t most =
      std::min(settings.record_max_bytes, transport::max_payload(scenario_.ring_bytes));
  rank.owed_ps += step.pieces * ((bytes + most - 1) / most * scenario_.costs.rank_record_ps +
                                 bytes * scenario_.costs.rank_byte_ps);
}

void Cluster::read(Rank& rank, Extent extent) {
  const bool fetches = file_of(rank).get() != file_.get();
  const bool asks = fetches || rank.session->dirty(rank.file);
  const std::uint32_t begun = fetches ? oracle_.moment() : UINT32_MAX;
  const Status status = fetches ? fetch(rank, extent)
                        : asks  ? ask(rank, Kind::flush, extent)
                                : rank.session->sticky(rank.file);
  if (told(rank, status)) check_read(rank, extent, begun);
  if (asks) think(rank);
}

Status Cluster::fetch(Rank& rank, Extent extent) {
  trace_.note(timeline_.now_ns(), rank.node, "fetches: rank offset bytes", rank.number, extent.begin,
              extent.size());
  rank.seat->forget_waits();
  const Status status = rank.session->fetch(rank.file, stand_in(rank.node), extent, rank.tally);
  if (!rank.gone)
    trace_.note(timeline_.now_ns(), rank.node, "has fetched: rank code", rank.number,
                static_cast<std::uint64_t>(status.code()));
  return status;
}

void Cluster::sync(Rank& rank) {
  if (told(rank, ask(rank, Kind::sync, everything))) acknowledge(rank, true, true);
  think(rank);
}

// What ledgers hold has to be in the file for good before others write there.
void Cluster::arrive(Rank& rank) {
  const bool ledger = keeps_ledger(scenario_.settings);
  if (ledger && !rank.session->keeps(rank.file)) {
    (void)told(rank, rank.session->sticky(rank.file));
    return;
  }
  (void)told(rank, ask(rank, ledger ? Kind::sync : Kind::arrive, everything));
  think(rank);
}

// An agent that died with nothing of the file in its hands has lost nothing.
void Cluster::close(Rank& rank) {
  const bool safe = !rank.session->dirty(rank.file) && scenario_.settings.durability == Durability::server;
  Status status = ask(rank, Kind::close, everything);
  if (status.code() == Code::lost_agent && safe) status = rank.session->sticky(rank.file);
  if (!told(rank, status) || !rank.error.ok()) return;
  acknowledge(rank, ends_on_disk(scenario_.settings), scenario_.settings.durability != Durability::node);
}

Status Cluster::ask(Rank& rank, Kind kind, Extent extent) {
  trace_.note(timeline_.now_ns(), rank.node, "asks: rank kind", rank.number,
              static_cast<std::uint64_t>(kind));
  rank.seat->forget_waits();
  const Status status = rank.session->request(kind, rank.file, extent, rank.tally);
  if (rank.gone) return status;
  trace_.note(timeline_.now_ns(), rank.node, "is answered: rank kind code", rank.number,
              static_cast<std::uint64_t>(kind), static_cast<std::uint64_t>(status.code()));
  return status;
}

// False: the rank has gone, or is told of an error.
bool Cluster::told(Rank& rank, Status status) {
  if (rank.gone || status.ok()) return !rank.gone;
  trace_.note(timeline_.now_ns(), rank.node, "is told of an error: rank code", rank.number,
              static_cast<std::uint64_t>(status.code()));
  if (rank.error.ok()) ++errors_;
  if (rank.error.ok()) rank.error = status;
  if (scenario_.benign())
    problem(who(rank) + " was told of an error though nothing failed: " + status.describe());
  if (status.code() == Code::timeout && rank.seat->timed_out() && !scenario_.stands_still(rank.node))
    problem(who(rank) + " gave up: its agent did not tell it what is wrong");
  return false;
}

void Cluster::meet(Rank& rank) {
  rank.at_barrier = true;
  release();
  rank.seat->sleep();
}

void Cluster::release() {
  const auto elsewhere = [](const Rank& one) { return !one.gone && !one.over && !one.at_barrier; };
  if (std::ranges::any_of(ranks_, elsewhere)) return;
  failed_ |= std::ranges::any_of(ranks_, [](const Rank& one) { return one.gone || !one.error.ok(); });
  for (Rank& one : ranks_) {
    if (!one.gone && std::exchange(one.at_barrier, false)) one.seat->rouse_after(timeline_.below(think_ns));
  }
}

// What writes returned for is in the ring of who loses its agent, and is saved.
void Cluster::end(Rank& rank) {
  if (rank.session->lost() && scenario_.writes_survive()) oracle_.acknowledge_finished(rank.number);
  if (!stays(rank)) rank.session->leave();
  rank.over = true;
  over_ns_ = timeline_.now_ns();
}

// With its host. It saves nothing, and its program returns from wherever it is.
void Cluster::vanish(Rank& rank) {
  if (rank.seat == nullptr || std::exchange(rank.gone, true)) return;
  rank.session->abandon_in_child();
  rank.seat->vanish();
}

}  // namespace millrace::sim
