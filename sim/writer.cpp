// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "writer.hpp"

#include <algorithm>
#include <utility>

#include "client/file/agent_reads.hpp"
#include "client/way/sieve.hpp"
#include "cluster.hpp"

namespace millrace::sim {

namespace {

// The file of a rank that writes as the front writes small pieces, and pieces with holes, on a file system
// with locks.
class SievedByRank final : public client::SievedFile {
 public:
  SievedByRank(RankProcess& process, io::Handle handle, World& world)
      : seat_(process.seat()), files_(process.library()), handle_(handle), world_(world) {}
  bool lock(Extent extent, bool) override {
    files_.lock(handle_, extent);
    return true;
  }
  void unlock() override { files_.unlock(); }
  Status read(std::uint64_t offset, std::span<std::byte> into) override {
    const Result<std::size_t> got = files_.read(handle_, offset, into);
    if (got) std::ranges::fill(into.subspan(*got), std::byte{0});
    seat_.sleep_until(world_.now_ns() + world_.moment_ns());  // other processes have the processors
    return got.status();
  }
  Status write(std::uint64_t offset, std::span<const std::byte> from) override {
    return files_.write(handle_, offset, from);
  }

 private:
  Seat& seat_;
  LibraryFiles& files_;
  const io::Handle handle_;
  World& world_;
};

}  // namespace

Status Writer::open() {
  const Scenario& scenario = cluster_.scenario;
  SharedFile& file = cluster_.file;
  // The library opens a file of one node after the ranks have agreed.
  if (!scenario.stands_in) {
    if (const Status opened = open_in_library(file.file()); !opened.ok()) return opened;
  }
  if (scenario.conduct.second_handles || rank_.looks_on())
    second_ = client::open(client::guest_of(file.path(), rank_.process().settings().file), rank_.process());
  if (rank_.looks_on()) return {};
  if (scenario.reads.until_written) file.show_size();
  client::Plan plan =
      rank_.agree(scenario.stands_in ? client::plan_first : client::plan_write, scenario.plan,
                  scenario.reads.until_written ? millrace::Stage::pieces : millrace::Stage::none);
  const std::unique_ptr<Held> stand_in = rank_.place().end_copy();  // until the library has it open
  if (rank_.gone()) return {};
  if (!plan.ours) return Code::lost_peer;  // a rank has died
  const bool routed = scenario.nodes > 1 && plan.apart == client::Apart::no;
  // The open of a file of one node fails if some node has no agent.
  if (plan.error != 0) return Code::lost_agent;
  if (scenario.stands_in) {
    if (const Status opened = open_in_library(plan.opened); !opened.ok()) return opened;
  }
  file_ = std::move(plan.file);
  written_ = closed_ = false;
  rank_.reader().begin(routed && plan.through != client::Through::none);
  return {};
}

Status Writer::open_in_library(const Fd& file) {
  const Result<io::Handle> handle = rank_.process().library().open(file);
  if (handle) handle_ = *handle;
  return handle.status();
}

void Writer::open_again() {
  rank_.note("opens: rank");
  if (cluster_.scenario.reads.until_written) cluster_.faults.begin_reads();
  (void)rank_.told(open());
}

void Writer::write(const Step& step) {
  const Scenario& scenario = cluster_.scenario;
  Oracle& oracle = cluster_.judge.oracle();
  const std::uint64_t bytes = step.extent.size();
  std::vector<std::byte> all(step.pieces * bytes);
  std::vector<client::Piece> pieces;
  std::uint32_t number = 0;
  for (std::uint32_t i = 0; i < step.pieces; ++i) {
    const Extent extent = step.piece(i);
    number = oracle.add(rank_.number(), extent);
    const auto memory = std::span(all).subspan(i * bytes, bytes);
    oracle.fill(number, extent.begin, memory);
    pieces.push_back({extent.begin, memory.data(), memory.size()});
  }
  rank_.note("writes: rank pieces bytes", step.pieces, all.size());
  written_ = true;
  rank_.reader().leave();
  if (!rank_.told(write(pieces, all.size()))) return;
  for (std::uint32_t i = 0; i < step.pieces; ++i) oracle.finish(number - i, cluster_.world.now_ns());
  const std::uint64_t most =
      std::min(scenario.settings.record_max_bytes, transport::max_payload(scenario.ranks.ring_bytes));
  rank_.owe(step.pieces * ((bytes + most - 1) / most * scenario.costs.rank_record_ps +
                           bytes * scenario.costs.rank_byte_ps));
}

Status Writer::write(const std::vector<client::Piece>& pieces, std::uint64_t bytes) {
  if (file_ == nullptr) return write_past(pieces, {});
  if (file_->enter_pipeline({bytes, pieces.size(), pieces.size()})) return file_->write(pieces);
  const client::SieveBounds& sweep = cluster_.scenario.ranks.sweep;
  const Extent hull{pieces.front().offset, pieces.back().offset + pieces.back().size};
  Status status = file_->flush(client::Before::write, hull);
  if (status.ok() && sweep.window > 0 && (pieces.size() > 1 || hull.size() <= sweep.gap)) {
    rank_.note("sieves: rank pieces", pieces.size());
    SievedByRank sieved(rank_.process(), *handle_, cluster_.world);
    status = client::Sieve().write(sieved, pieces, sweep);
  } else {
    status = write_past(pieces, status);
  }
  if (status.ok()) file_->note_direct_write(hull);
  return status;
}

// Writes by the MPI library, unless there was an error before.
Status Writer::write_past(const std::vector<client::Piece>& pieces, Status status) {
  for (const client::Piece& piece : pieces) {
    if (!status.ok()) break;
    rank_.note("writes past the pipeline: rank offset bytes", piece.offset, piece.size);
    status = rank_.process().library().write(
        *handle_, piece.offset, std::span(static_cast<const std::byte*>(piece.data), piece.size));
  }
  return status;
}

void Writer::read(Extent extent) {
  rank_.note("reads: rank offset bytes", extent.begin, extent.size());
  client::File* const by = second_ != nullptr ? second_.get() : file_.get();
  if (cluster_.file.is_elsewhere(rank_.node())) {
    read_from_server(extent);
  } else if (rank_.told(by != nullptr ? by->flush(client::Before::read, extent) : Status())) {
    cluster_.judge.check_read(rank_.number(), cluster_.world.disk.contents(cluster_.file.file()), extent,
                              UINT32_MAX);
  }
  if (file_ != nullptr) file_->counts().moved_by_library(extent.size());
  rank_.think();
}

// On a node without the file.
void Writer::read_from_server(Extent extent) {
  const std::uint32_t begun = cluster_.judge.oracle().moment();
  const client::FileView bytes;
  std::vector<std::byte> file(extent.end);
  const client::PieceSource source(bytes, extent.begin, bytes.filetype(), file.data() + extent.begin,
                                   extent.size());
  const Result<std::uint64_t> got =
      file_->agent_reads()->read_from_server(bytes, extent.begin, source, extent.end);
  if (!rank_.told(got.status())) return;
  file.resize(extent.begin + *got);
  cluster_.judge.check_read(rank_.number(), file, extent, begun);
}

void Writer::sync() {
  rank_.note("syncs: rank");
  Status status = file_ != nullptr ? file_->sync() : Status();
  const Status library = rank_.process().library().sync(*handle_);
  if (status.ok()) status = library;
  if (rank_.told(status)) cluster_.judge.acknowledge(rank_.number(), true, true);
  if (cluster_.scenario.reads.until_written) rank_.reader().refresh();
  rank_.think();
}

// A collective function that moves no bytes of the file. If nodes do not work together, the MPI library
// writes the file, and all writes are in order.
void Writer::arrive() {
  rank_.note("arrives: rank");
  if (second_ != nullptr) (void)second_->flush(client::Before::others_write);
  rank_.reader().order();
  const bool good = rank_.told(file_ != nullptr ? file_->flush(client::Before::others_write) : Status());
  // After the death of its agent a rank may get the error only at its next request. If it has joined only
  // another agent, it gets none.
  if (good && !(cluster_.scenario.agents.start && rank_.process().agent_has_gone()))
    cluster_.judge.oracle().order(rank_.number());
  rank_.think();
}

void Writer::turn(client::Reason why_direct) {
  if (file_ == nullptr || cluster_.file.is_elsewhere(rank_.node())) return;
  rank_.note("turns: rank direct", why_direct != client::Reason::none ? 1 : 0);
  (void)rank_.told(file_->set_direct({why_direct}));
}

void Writer::close() {
  if (client::may_join_late(cluster_.scenario.settings)) rank_.meet();
  if (!handle_ || rank_.gone()) return;
  rank_.note("closes: rank");
  const Status status = file_ != nullptr ? file_->close() : Status();
  if (rank_.gone()) return;
  file_ = nullptr;
  second_ = nullptr;
  const Status library = rank_.process().library().close(*handle_);
  handle_.reset();
  rank_.reader().check_window();
  if (!rank_.told(status.ok() ? library : status) || rank_.has_failed()) return;
  closed_ = true;
  if (!cluster_.scenario.close_fails()) cluster_.judge.acknowledge_close(rank_.number());
}

void Writer::let_go() {
  file_ = nullptr;
  second_ = nullptr;
  if (handle_) (void)rank_.process().library().close(*handle_);
  handle_.reset();
  closed_ = false;
}

}  // namespace millrace::sim
