// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Cluster: the ranks' programs, straight code over the shipped client, each in its fiber. They call the
// MPI library as a front does.
#include <algorithm>
#include <utility>

#include "client/file/agent_reads.hpp"
#include "client/file/file.hpp"
#include "client/file/ledgers.hpp"
#include "client/way/sieve.hpp"
#include "cluster.hpp"

namespace millrace::sim {

namespace {

constexpr std::uint64_t quantum_ps = 50'000'000;  // a rank works this long before other ranks have their turn

}  // namespace

void Cluster::live(Rank& rank) {
  for (; rank.step < rank.program->size() && !rank.gone; ++rank.step) {
    pay(rank);
    take(rank, (*rank.program)[rank.step]);
  }
  if (!rank.gone) end(rank);
}

void Cluster::think(Rank& rank) {
  if (!rank.gone) rank.process->seat().sleep_until(timeline_.now_ns() + timeline_.below(think_ns));
}

// The rank sleeps for the processor time that its earlier calls took.
void Cluster::pay(Rank& rank) {
  if (rank.owed_ps < quantum_ps) return;
  rank.process->seat().sleep_until(
      processors_.take(timeline_.now_ns(), std::exchange(rank.owed_ps, 0) / 1000));
}

void Cluster::take(Rank& rank, const Step& step) {
  if (!rank.reader.readings.empty()) end_readings(rank, step);
  const bool skips = failed_ || (!rank.error.ok() && !scenario_.conduct.heedless);
  if (step.kind == Step::Kind::barrier) return meet(rank);
  if (step.kind == Step::Kind::close) return close(rank);
  if (step.kind == Step::Kind::stage) return stage(rank);
  if (step.kind == Step::Kind::open_reader) return open_reader(rank);
  if (step.kind == Step::Kind::close_reader) return close_reader(rank);
  if (step.kind == Step::Kind::tell_writes) return tell_writes(rank);
  if (skips || rank.gone) return;
  switch (step.kind) {
    case Step::Kind::write:
      return write(rank, step);
    case Step::Kind::read:
      return read(rank, step.extent);
    case Step::Kind::sync:
      return sync(rank);
    case Step::Kind::direct:
      return turn(rank, client::Reason::atomic_mode);
    case Step::Kind::pipeline:
      return turn(rank, client::Reason::none);
    case Step::Kind::read_through:
      return read_through(rank, step);
    case Step::Kind::sync_reader:
      return sync_reader(rank);
    case Step::Kind::leave:
      return leave_agents(rank);
    case Step::Kind::rest:
      note(rank, "computes: rank ns", step.stride);
      return rank.process->seat().sleep_until(timeline_.now_ns() + step.stride);
    case Step::Kind::settle:
      note(rank, "settles: rank");
      return (void)client::settle_ledgers(path_.c_str(), true, *rank.process);
    case Step::Kind::open:
      note(rank, "opens: rank");
      if (scenario_.reads.until_written) plan_read_faults();
      return (void)told(rank, open(rank));
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
    const auto memory = std::span(rank.memory).subspan(i * bytes, bytes);
    oracle_.fill(number, extent.begin, memory);
    rank.pieces.push_back({extent.begin, memory.data(), memory.size()});
  }
  note(rank, "writes: rank pieces bytes", step.pieces, step.pieces * bytes);
  rank.written = true;
  leave_agents(rank);
  const Status status = write(rank, step.pieces * bytes);
  if (!told(rank, status)) return;
  for (std::uint32_t i = 0; i < step.pieces; ++i) oracle_.finish(number - i, timeline_.now_ns());
  const std::uint64_t most =
      std::min(scenario_.settings.record_max_bytes, transport::max_payload(scenario_.ranks.ring_bytes));
  rank.owed_ps += step.pieces * ((bytes + most - 1) / most * scenario_.costs.rank_record_ps +
                                 bytes * scenario_.costs.rank_byte_ps);
}

Status Cluster::write(Rank& rank, std::uint64_t bytes) {
  if (rank.file == nullptr) return write_past(rank, {});
  const bool pipeline = rank.file->enter_pipeline({bytes, rank.pieces.size(), rank.pieces.size()});
  return pipeline ? rank.file->write(rank.pieces) : write_directly(rank);
}

Status Cluster::write_directly(Rank& rank) {
  const client::Piece& last = rank.pieces.back();
  const Extent hull{rank.pieces.front().offset, last.offset + last.size};
  Status status = rank.file->prepare_direct_write(hull);
  const bool sieves = rank.pieces.size() > 1 || hull.size() <= scenario_.ranks.sweep.gap;
  status = status.ok() && scenario_.ranks.sweep.window > 0 && sieves ? sieve(rank) : write_past(rank, status);
  if (status.ok()) rank.file->note_direct_write(hull);
  return status;
}

// Writes as the front writes small pieces, and pieces with holes, on a file system with locks.
Status Cluster::sieve(Rank& rank) {
  class SievedByRank final : public client::SievedFile {
   public:
    SievedByRank(Rank& rank, io::Timeline& timeline)
        : seat_(rank.process->seat()),
          files_(rank.process->library()),
          handle_(*rank.handle),
          timeline_(timeline) {}
    bool lock(Extent extent, bool) override {
      files_.lock(handle_, extent);
      return true;
    }
    void unlock() override { files_.unlock(); }
    Status read(std::uint64_t offset, std::span<std::byte> into) override {
      const Result<std::size_t> got = files_.read(handle_, offset, into);
      if (got) std::ranges::fill(into.subspan(*got), std::byte{0});
      seat_.sleep_until(timeline_.now_ns() +
                        timeline_.below(think_ns));  // other processes have the processors
      return got.status();
    }
    Status write(std::uint64_t offset, std::span<const std::byte> from) override {
      return files_.write(handle_, offset, from);
    }

   private:
    Seat& seat_;
    LibraryFiles& files_;
    const io::Handle handle_;
    io::Timeline& timeline_;
  };
  note(rank, "sieves: rank pieces", rank.pieces.size());
  SievedByRank file(rank, timeline_);
  return client::Sieve().write(file, rank.pieces, scenario_.ranks.sweep);
}

// Writes by the MPI library, unless there was an error before.
Status Cluster::write_past(Rank& rank, Status status) {
  for (const client::Piece& piece : rank.pieces) {
    if (!status.ok()) break;
    note(rank, "writes past the pipeline: rank offset bytes", piece.offset, piece.size);
    status = rank.process->library().write(*rank.handle, piece.offset,
                                           std::span(static_cast<const std::byte*>(piece.data), piece.size));
  }
  return status;
}

void Cluster::read(Rank& rank, Extent extent) {
  note(rank, "reads: rank offset bytes", extent.begin, extent.size());
  Status status;
  client::File* const by = rank.second != nullptr ? rank.second.get() : rank.file.get();
  if (is_elsewhere(rank)) {
    read_from_server(rank, extent);
  } else {
    if (by != nullptr) status = by->flush(extent);
    if (told(rank, status)) check_read(rank, disk_.contents(file_of(rank)), extent, UINT32_MAX);
  }
  if (rank.file != nullptr) rank.file->counts().moved_by_library(extent.size());
  think(rank);
}

// On a node without the file.
void Cluster::read_from_server(Rank& rank, Extent extent) {
  const std::uint32_t begun = oracle_.moment();
  const client::FileView bytes;
  std::vector<std::byte> file(extent.end);
  const client::PieceSource source(bytes, extent.begin, bytes.filetype(), file.data() + extent.begin,
                                   extent.size());
  const Result<std::uint64_t> got =
      rank.file->agent_reads()->read_from_server(bytes, extent.begin, source, extent.end);
  if (!told(rank, got.status())) return;
  file.resize(extent.begin + *got);
  check_read(rank, file, extent, begun);
}

void Cluster::sync(Rank& rank) {
  note(rank, "syncs: rank");
  Status status = rank.file != nullptr ? rank.file->sync() : Status();
  const Status library = rank.process->library().sync(*rank.handle);
  if (status.ok()) status = library;
  if (told(rank, status)) acknowledge(rank, true, true);
  if (scenario_.reads.until_written) rank.reader.refreshed = true;
  think(rank);
}

// A collective function that moves no bytes of the file. If nodes do not work together, the MPI library
// writes the file, and all writes are in order.
void Cluster::arrive(Rank& rank) {
  const bool ordered = scenario_.nodes > 1 && rank.file != nullptr;
  note(rank, "arrives: rank");
  if (rank.second != nullptr) (void)rank.second->order();
  if (rank.reader.file != nullptr) (void)rank.reader.file->order();
  rank.reader.refreshed = true;
  const bool good = told(rank, ordered ? rank.file->order() : Status());
  // After the death of its agent a rank may get the error only at its next request. If it has joined only
  // another agent, it gets none.
  if (good && !(scenario_.agents.start && rank.process->agent_has_gone())) oracle_.order(rank.number);
  think(rank);
}

void Cluster::turn(Rank& rank, client::Reason why_direct) {
  if (rank.file == nullptr || is_elsewhere(rank)) return;
  note(rank, "turns: rank direct", why_direct != client::Reason::none ? 1 : 0);
  (void)told(rank, rank.file->set_direct({why_direct}));
}

void Cluster::close(Rank& rank) {
  if (client::may_join_late(scenario_.settings)) meet(rank);
  if (!rank.handle || rank.gone) return;
  note(rank, "closes: rank");
  const Status status = rank.file != nullptr ? rank.file->close() : Status();
  if (rank.gone) return;
  rank.file = nullptr;
  rank.second = nullptr;
  const Status library = rank.process->library().close(*rank.handle);
  rank.handle.reset();
  check_window(rank);
  if (!told(rank, status.ok() ? library : status) || !rank.error.ok()) return;
  rank.closed = true;
  if (scenario_.close_fails()) return;
  acknowledge(rank, ends_on_disk(scenario_.settings), scenario_.settings.durability != Durability::node);
}

void Cluster::note(Rank& rank, const char* what, std::uint64_t one, std::uint64_t other) {
  trace_.note(timeline_.now_ns(), rank.node, what, rank.number, one, other);
}

// Records the outcome of a call. False: the rank has died, or got an error.
bool Cluster::told(Rank& rank, Status status) {
  if (rank.gone || status.ok()) return !rank.gone;
  trace_.note(timeline_.now_ns(), rank.node, "is told of an error: rank code", rank.number,
              static_cast<std::uint64_t>(status.code()));
  if (rank.error.ok()) ++errors_;
  if (rank.error.ok()) rank.error = status;
  if (scenario_.benign())
    problem(who(rank) + " was told of an error though nothing failed: " + status.describe());
  check_patience(rank, status);
  return false;
}

// Only the rank itself reports a timeout; errors elsewhere have codes of their own.
void Cluster::check_patience(const Rank& rank, Status status) {
  if (!rank.gone && status.code() == Code::timeout && !scenario_.stands_still(rank.node))
    problem(who(rank) + " gave up: its agent did not tell it what is wrong");
}

void Cluster::meet(Rank& rank) {
  rank.at_barrier = true;
  release();
  rank.process->seat().sleep();
}

void Cluster::release() {
  if (!assemblies_.empty()) assemblies_.back()->wake();
  if (!stagings_.empty()) stagings_.back()->assembly.wake();
  const auto elsewhere = [](const Rank& one) { return !one.gone && !one.over && !one.at_barrier; };
  if (std::ranges::any_of(ranks_, elsewhere)) return;
  failed_ |= !scenario_.conduct.heedless &&
             std::ranges::any_of(ranks_, [](const Rank& one) { return one.gone || !one.error.ok(); });
  met_ = oracle_.moment();
  written_ = std::ranges::any_of(ranks_, [](const Rank& one) { return one.written; });
  for (Rank& one : ranks_) {
    if (!one.gone && std::exchange(one.at_barrier, false))
      one.process->seat().rouse_after(1 + timeline_.below(think_ns));
  }
}

// If the rank has lost its agent, it has saved the bytes of returned writes from its ring.
void Cluster::end(Rank& rank) {
  if (rank.process->lost() && scenario_.writes_survive()) oracle_.acknowledge_finished(rank.number);
  if (next_ == nullptr || !stays(rank, *next_)) rank.process->leave();
  rank.over = true;
  over_ns_ = timeline_.now_ns();
}

// The rank dies.
void Cluster::vanish(Rank& rank) {
  if (rank.process != nullptr && !std::exchange(rank.gone, true)) rank.process->vanish();
}

}  // namespace millrace::sim
