// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Cluster: reads through the agents. A rank reads the file itself if that fails, as in the front.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "client/file/agent_reads.hpp"
#include "client/file/file.hpp"
#include "client/view/typemap.hpp"
#include "cluster.hpp"

namespace millrace::sim {

namespace {

constexpr std::size_t guard_bytes = 16;  // around the memory of a read
constexpr std::byte guard{0x5A};
constexpr std::uint64_t dying_ns = 8'000;  // a few rounds of an agent

std::span<std::byte> data_of(Reader::Reading& reading) {
  return std::span(reading.memory).subspan(guard_bytes, reading.positions.size());
}

client::PieceSource source_of(Reader::Reading& reading) {
  static const client::TypeMap byte = client::contiguous_type(1);
  return {*reading.view, reading.positions.begin, byte, data_of(reading).data(), reading.positions.size()};
}

}  // namespace

// The handle that reads through the agents; nullptr: it is not open.
client::File* Cluster::reader_of(const Rank& rank) const {
  return scenario_.reads.until_written ? rank.file.get() : rank.reader.file.get();
}

// The real file gets the size of the virtual one: the client asks the kernel for it.
void Cluster::show_size() { (void)::truncate(path_.c_str(), static_cast<off_t>(disk_.contents(0).size())); }

void Cluster::plan_read_faults() {
  if (std::exchange(reads_began_, true)) return;
  for (const Fault& fault : scenario_.reads.faults)
    planned_.push_back(timeline_.after(fault.at_ns, [this, fault] { befall(fault); }));
}

// The file counts as not written, so that ranks read through the agents what others write.
void Cluster::open_reader(Rank& rank) {
  note(rank, "opens for reading: rank");
  plan_read_faults();
  show_size();
  const Result<io::Handle> handle = rank.process->library().open(file_);
  if (handle) rank.reader.handle = *handle;
  rank.reader.refreshed = true;
  rank.reader.blind = rank.process->agent_has_gone();
  client::Wishes wishes = wishes_of(rank, scenario_.reads.plan, millrace::Stage::pieces);
  wishes.leads = rank.number % scenario_.ranks_per_node == 0;
  client::Plan plan = agree(rank, client::plan_read, std::move(wishes));
  rank.reader.through = plan.through != client::Through::none;
  rank.reader.untried = std::move(plan.untried);
  rank.reader.file = std::move(plan.file);
  if (rank.reader.through) return;
  rank.reader.blind = rank.process->agent_has_gone();
  rank.reader.file = client::open_guest(path_, *rank.process);
}

void Cluster::read_through(Rank& rank, const Step& step) {
  client::File* const by = reader_of(rank);
  if (by == nullptr) return;
  const client::FileView& view = scenario_.reads.views[step.view];
  const std::uint64_t bytes = step.extent.size();
  const Extent hull = view.hull_of(step.extent.begin, bytes);
  note(rank, "reads through the agents: rank offset bytes", hull.begin, bytes);
  if (++reads_ == scenario_.reads.dies_at)
    planned_.push_back(timeline_.after(timeline_.below(dying_ns), [this, node = rank.node] {
      befall({FaultKind::kill_ranks, 0, 0, node});
    }));
  // A rank that reads the file itself has read nothing ahead.
  if (std::exchange(rank.reader.refreshed, false) || !rank.reader.through) {
    rank.reader.fresh = oracle_.moment();
    rank.reader.ordered = met_;
  }
  if (const auto untried = std::exchange(rank.reader.untried, nullptr))
    rank.reader.through = client::try_meeting(*rank.place, *untried);
  const Status flushed = by->flush(hull);
  if (!flushed.ok() && !rank.gone && !rank.handle)
    problem(who(rank) + " cannot read, though nobody writes: " + flushed.describe());
  if (!told(rank, flushed)) return;
  Reader::Reading reading{&view, step.extent, std::vector(bytes + 2 * guard_bytes, guard), rank.reader.fresh,
                          rank.reader.ordered};
  Status got = Code::unsupported;
  if (rank.reader.through && step.on_their_way > 0 && start_reading(rank, reading, got)) {
    rank.reader.readings.push_back(std::move(reading));
    while (rank.reader.readings.size() > step.on_their_way && !rank.gone)
      end_reading(rank, reads_ % rank.reader.readings.size());
    return think(rank);
  }
  if (rank.reader.through && step.on_their_way == 0)
    got = by->agent_reads()->read(view, step.extent.begin, source_of(reading), hull.end);
  rank.reader.had_window |= rank.reader.through;
  end_reading(rank, std::move(reading), got);
  think(rank);
}

// False: the rank has to read the file itself.
bool Cluster::start_reading(Rank& rank, Reader::Reading& reading, Status& got) {
  const std::uint64_t end = reading.view->hull_of(reading.positions.begin, reading.positions.size()).end;
  Result<std::unique_ptr<client::PendingRead>> read =
      reader_of(rank)->agent_reads()->start(*reading.view, reading.positions.begin, source_of(reading), end);
  rank.reader.had_window |= rank.reader.through;
  got = read.status();
  if (!read) return false;
  reading.read = *std::move(read);
  return true;
}

// `got`: whether the agents have brought the bytes.
void Cluster::end_reading(Rank& rank, Reader::Reading reading, Status got) {
  through_ += got.ok() ? 1 : 0;
  check_patience(rank, got);
  // Reads on their way may leave no part of the window, or want more than it has.
  const bool crowded = got.code() == Code::no_memory || !rank.reader.readings.empty();
  if (!got.ok() && !rank.gone && rank.reader.through && scenario_.benign() && !crowded)
    problem(who(rank) + " has to read the file itself, though nothing failed: " + got.describe());
  if (!got.ok()) got = read_from_file(rank, *reading.view, reading.positions, data_of(reading));
  if (rank.gone) return;
  if (got.ok() && !rank.reader.blind && !may_be_gone()) check_pieces(rank, reading);
  const auto spoilt = [](std::byte one) { return one != guard; };
  const std::span<const std::byte> memory = reading.memory;
  if (std::ranges::any_of(memory.first(guard_bytes), spoilt) ||
      std::ranges::any_of(memory.last(guard_bytes), spoilt))
    problem(who(rank) + " has memory overwritten beside a read");
}

void Cluster::end_reading(Rank& rank, std::size_t which) {
  Reader::Reading reading = std::move(rank.reader.readings[which]);
  rank.reader.readings.erase(rank.reader.readings.begin() + static_cast<std::ptrdiff_t>(which));
  note(rank, "waits for a read: rank position bytes", reading.positions.begin, reading.positions.size());
  const Status got = reading.read->finish();
  end_reading(rank, std::move(reading), got);
}

// MPI demands that these reads end before the rank syncs or closes, or writes their bytes.
void Cluster::end_readings(Rank& rank, const Step& step) {
  using Kind = Step::Kind;
  const bool goes_on = step.kind == Kind::read_through || step.kind == Kind::direct ||
                       step.kind == Kind::pipeline || step.kind == Kind::rest || step.kind == Kind::barrier ||
                       step.kind == Kind::arrive || step.kind == Kind::leave;
  for (std::size_t i = 0; i < rank.reader.readings.size() && !goes_on && !rank.gone;) {
    const Reader::Reading& one = rank.reader.readings[i];
    const Extent hull = one.view->hull_of(one.positions.begin, one.positions.size());
    const bool apart = step.kind == Kind::write && step.pieces == 1 && !step.extent.intersects(hull);
    apart ? static_cast<void>(++i) : end_reading(rank, i);
  }
}

// A fault of the disk may hit this read too.
Status Cluster::read_from_file(Rank& rank, const client::FileView& view, Extent positions,
                               std::span<std::byte> memory) {
  const Extent hull = view.hull_of(positions.begin, positions.size());
  note(rank, "reads the file itself: rank offset bytes", hull.begin, hull.size());
  std::vector<std::byte> all(hull.size());
  const io::Handle handle = scenario_.reads.until_written ? *rank.handle : *rank.reader.handle;
  const Result<std::size_t> read = rank.process->library().read(handle, hull.begin, all);
  if (!read) return read.status();
  client::Cursor at(view.filetype(), static_cast<std::int64_t>(view.displacement()), positions.begin);
  while (!memory.empty()) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(at.rest(), memory.size()));
    std::memcpy(memory.data(), all.data() + (static_cast<std::uint64_t>(at.offset()) - hull.begin), size);
    memory = memory.subspan(size);
    at.advance(size);
  }
  return {};
}

void Cluster::check_pieces(const Rank& rank, const Reader::Reading& reading) {
  seen_.resize(scenario_.file_bytes);
  std::span<const std::byte> memory =
      std::span(reading.memory).subspan(guard_bytes, reading.positions.size());
  client::Cursor at(reading.view->filetype(), static_cast<std::int64_t>(reading.view->displacement()),
                    reading.positions.begin);
  while (!memory.empty()) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(at.rest(), memory.size()));
    const auto begin = static_cast<std::uint64_t>(at.offset());
    std::memcpy(seen_.data() + begin, memory.data(), size);
    const std::string wrong = oracle_.check(seen_, {begin, begin + size}, static_cast<int>(rank.number),
                                            false, reading.fresh, reading.ordered);
    if (!wrong.empty()) return problem(who(rank) + " reads what is wrong through the agents: " + wrong);
    memory = memory.subspan(size);
    at.advance(size);
  }
}

void Cluster::sync_reader(Rank& rank) {
  note(rank, "syncs what it reads: rank");
  if (rank.reader.file != nullptr) (void)told(rank, rank.reader.file->sync());
  rank.reader.refreshed = true;
  think(rank);
}

// From now on the rank reads the file itself.
void Cluster::leave_agents(Rank& rank) {
  if (!scenario_.reads.until_written || !std::exchange(rank.reader.through, false)) return;
  note(rank, "reads through agents no more: rank");
  if (rank.file != nullptr) rank.file->agent_reads()->stop();
}

// In the front, this is a part of MPI_File_sync and of collective reads.
void Cluster::tell_writes(Rank& rank) {
  meet(rank);
  if (!rank.gone && written_) leave_agents(rank);
}

void Cluster::close_reader(Rank& rank) {
  if (rank.gone) return;
  meet(rank);
  if (!rank.reader.handle || rank.gone) return;
  note(rank, "closes what it reads: rank");
  const Status status = rank.reader.file != nullptr ? rank.reader.file->close() : Status();
  if (rank.gone) return;
  if (!status.ok()) problem(who(rank) + " cannot close what it only reads: " + status.describe());
  rank.reader.file = nullptr;
  (void)rank.process->library().close(*rank.reader.handle);
  rank.reader.handle.reset();
  check_window(rank);
}

// All parts of the window come back, also those of guesses that nobody needs.
void Cluster::check_window(Rank& rank) {
  if (!std::exchange(rank.reader.had_window, false) || rank.process->lost()) return;
  client::ReadWindow* const window = rank.process->session().window();
  if (window == nullptr) return;
  while (window->await_part()) {
  }
  std::size_t free = 0;
  while (free < client::ReadWindow::parts && window->take_part()) ++free;
  if (rank.gone || rank.process->lost() || scenario_.stands_still(rank.node)) return;
  if (free < client::ReadWindow::parts) problem(who(rank) + " does not get all of its window back");
  for (std::uint32_t part = 0; part < free; ++part) window->give_back(part);
}

}  // namespace millrace::sim
