// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "reader.hpp"

#include <algorithm>
#include <utility>

#include "client/file/agent_reads.hpp"
#include "client/view/typemap.hpp"
#include "cluster.hpp"

namespace millrace::sim {

namespace {

constexpr std::size_t guard_bytes = 16;  // around the memory of a read
constexpr std::byte guard{0x5A};

// Calls `visit` with each piece of the memory, and its place in the file. Ends early if that returns false.
template <class Byte, class Visit>
void each_piece(const client::FileView& view, std::uint64_t begin, std::span<Byte> memory, Visit visit) {
  client::Cursor at(view.filetype(), static_cast<std::int64_t>(view.displacement()), begin);
  while (!memory.empty()) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(at.rest(), memory.size()));
    if (!visit(memory.first(size), static_cast<std::uint64_t>(at.offset()))) return;
    memory = memory.subspan(size);
    at.advance(size);
  }
}

}  // namespace

std::span<std::byte> Reader::Read::data() { return std::span(memory).subspan(guard_bytes, positions.size()); }

client::PieceSource Reader::Read::source() {
  static const client::TypeMap byte = client::contiguous_type(1);
  return {*view, positions.begin, byte, data().data(), data().size()};
}

client::File* Reader::file() const {
  return cluster_.scenario.reads.until_written ? rank_.writer().file() : file_.get();
}

// The file counts as not written, so that ranks read through the agents what others write.
void Reader::open() {
  const Scenario& scenario = cluster_.scenario;
  RankProcess& process = rank_.process();
  rank_.note("opens for reading: rank");
  cluster_.faults.begin_reads();
  cluster_.file.show_size();
  const Result<io::Handle> handle = process.library().open(cluster_.file.file());
  if (handle) handle_ = *handle;
  refresh();
  client::Plan plan = rank_.agree(client::plan_read, scenario.reads.plan, millrace::Stage::pieces,
                                  rank_.number() % scenario.ranks_per_node == 0);
  through_ = plan.through != client::Through::none;
  untried_ = std::move(plan.untried);
  file_ = std::move(plan.file);
  blind_ = process.agent_has_gone();  // as the guest behind the file knows it
  if (through_) return;
  file_ = client::open(client::guest_of(cluster_.file.path(), process.settings().file), process);
}

void Reader::read(const Step& step) {
  client::File* const by = file();
  if (by == nullptr) return;
  const client::FileView& view = cluster_.scenario.reads.views[step.view];
  const std::uint64_t bytes = step.extent.size();
  const Extent hull = view.hull_of(step.extent.begin, bytes);
  rank_.note("reads through the agents: rank offset bytes", hull.begin, bytes);
  cluster_.faults.begin_read(rank_.node());
  // A rank that reads the file itself has read nothing ahead.
  if (std::exchange(refreshed_, false) || !through_) {
    fresh_ = cluster_.judge.oracle().moment();
    ordered_ = cluster_.judge.met();
  }
  if (const auto untried = std::exchange(untried_, nullptr))
    through_ = client::try_meeting(rank_.place(), *untried);
  const Status flushed = by->flush(client::Before::read, hull);
  if (!flushed.ok() && !rank_.gone() && !rank_.writer().handle())
    rank_.problem("cannot read, though nobody writes: " + flushed.describe());
  if (!rank_.told(flushed)) return;
  Read read{&view, step.extent, std::vector(bytes + 2 * guard_bytes, guard), fresh_, ordered_};
  Status got = Code::unsupported;
  if (through_ && step.on_their_way > 0 && start(read, got)) {
    reads_.push_back(std::move(read));
    while (reads_.size() > step.on_their_way && !rank_.gone()) end(cluster_.faults.reads() % reads_.size());
    return rank_.think();
  }
  if (through_ && step.on_their_way == 0)
    got = by->agent_reads()->read(view, step.extent.begin, read.source(), hull.end);
  had_window_ |= through_;
  end(std::move(read), got);
  rank_.think();
}

// False: the rank has to read the file itself.
bool Reader::start(Read& read, Status& got) {
  const std::uint64_t end = read.view->hull_of(read.positions.begin, read.positions.size()).end;
  Result<std::unique_ptr<client::PendingRead>> started =
      file()->agent_reads()->start(*read.view, read.positions.begin, read.source(), end);
  had_window_ |= through_;
  got = started.status();
  if (started) read.pending = *std::move(started);
  return got.ok();
}

// `got`: whether the agents have brought the bytes.
void Reader::end(Read read, Status got) {
  cluster_.outcome.through += got.ok() ? 1 : 0;
  if (!rank_.gone()) cluster_.judge.check_patience(rank_.number(), got);
  // Reads on their way may leave no part of the window, or want more than it has.
  const bool crowded = got.code() == Code::no_memory || !reads_.empty();
  if (!got.ok() && !rank_.gone() && through_ && cluster_.scenario.benign() && !crowded)
    rank_.problem("has to read the file itself, though nothing failed: " + got.describe());
  if (!got.ok()) got = read_from_file(read);
  if (rank_.gone()) return;
  if (got.ok() && !blind_ && !cluster_.judge.may_be_gone()) check(read);
  const auto spoilt = [](std::byte one) { return one != guard; };
  const std::span<const std::byte> memory = read.memory;
  if (std::ranges::any_of(memory.first(guard_bytes), spoilt) ||
      std::ranges::any_of(memory.last(guard_bytes), spoilt))
    rank_.problem("has memory overwritten beside a read");
}

void Reader::end(std::size_t which) {
  Read read = std::move(reads_[which]);
  reads_.erase(reads_.begin() + static_cast<std::ptrdiff_t>(which));
  rank_.note("waits for a read: rank position bytes", read.positions.begin, read.positions.size());
  const Status got = read.pending->finish();
  end(std::move(read), got);
}

// The reads end before the rank syncs or closes, or writes their bytes.
void Reader::end_reads(const Step& step) {
  using Kind = Step::Kind;
  const bool goes_on = step.kind == Kind::read_through || step.kind == Kind::direct ||
                       step.kind == Kind::pipeline || step.kind == Kind::rest || step.kind == Kind::barrier ||
                       step.kind == Kind::arrive || step.kind == Kind::leave;
  for (std::size_t i = 0; i < reads_.size() && !goes_on && !rank_.gone();) {
    const Extent hull = reads_[i].view->hull_of(reads_[i].positions.begin, reads_[i].positions.size());
    const bool apart = step.kind == Kind::write && step.pieces == 1 && !step.extent.intersects(hull);
    apart ? static_cast<void>(++i) : end(i);
  }
}

// A fault of the disk may hit this read too.
Status Reader::read_from_file(Read& read) {
  const Extent hull = read.view->hull_of(read.positions.begin, read.positions.size());
  rank_.note("reads the file itself: rank offset bytes", hull.begin, hull.size());
  std::vector<std::byte> all(hull.size());
  const io::Handle handle = cluster_.scenario.reads.until_written ? *rank_.writer().handle() : *handle_;
  const Result<std::size_t> got = rank_.process().library().read(handle, hull.begin, all);
  if (!got) return got.status();
  each_piece(*read.view, read.positions.begin, read.data(),
             [&](std::span<std::byte> piece, std::uint64_t offset) {
               std::ranges::copy(std::span(all).subspan(offset - hull.begin, piece.size()), piece.begin());
               return true;
             });
  return {};
}

void Reader::check(Read& read) {
  each_piece(*read.view, read.positions.begin, read.data(),
             [&](std::span<std::byte> piece, std::uint64_t offset) {
               return cluster_.judge.check_ahead(rank_.number(), offset, piece, read.fresh, read.ordered);
             });
}

void Reader::order() {
  if (file_ != nullptr) (void)file_->flush(client::Before::others_write);
  refresh();
}

void Reader::sync() {
  rank_.note("syncs what it reads: rank");
  if (file_ != nullptr) (void)rank_.told(file_->sync());
  refresh();
  rank_.think();
}

void Reader::leave() {
  if (!cluster_.scenario.reads.until_written || !std::exchange(through_, false)) return;
  rank_.note("reads through agents no more: rank");
  if (rank_.writer().file() != nullptr) rank_.writer().file()->agent_reads()->stop();
}

// In the front, this is a part of MPI_File_sync and of collective reads.
void Reader::tell_writes() {
  rank_.meet();
  if (!rank_.gone() && cluster_.job.has_written()) leave();
}

void Reader::close() {
  if (rank_.gone()) return;
  rank_.meet();
  if (!handle_ || rank_.gone()) return;
  rank_.note("closes what it reads: rank");
  const Status status = file_ != nullptr ? file_->close() : Status();
  if (rank_.gone()) return;
  if (!status.ok()) rank_.problem("cannot close what it only reads: " + status.describe());
  file_ = nullptr;
  (void)rank_.process().library().close(*handle_);
  handle_.reset();
  check_window();
}

void Reader::check_window() {
  RankProcess& process = rank_.process();
  if (!std::exchange(had_window_, false) || process.lost()) return;
  client::ReadWindow* const window = process.session().window();
  if (window == nullptr) return;
  while (window->await_part()) {
  }
  std::size_t free = 0;
  while (free < client::ReadWindow::parts && window->take_part()) ++free;
  if (rank_.gone() || process.lost() || cluster_.scenario.stands_still(rank_.node())) return;
  if (free < client::ReadWindow::parts) rank_.problem("does not get all of its window back");
  for (std::uint32_t part = 0; part < free; ++part) window->give_back(part);
}

}  // namespace millrace::sim
