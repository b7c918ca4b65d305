// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "sink/sink.hpp"

#include <algorithm>
#include <cassert>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

#include "sink/direct_way.hpp"
#include "sink/run.hpp"
#include "sink/writeback.hpp"

namespace millrace::sink {

namespace {

constexpr std::size_t max_pieces = 1024;  // IOV_MAX: so each write is one system call

Extent blocks(Extent bytes) {
  constexpr std::uint64_t mask = io::direct_alignment - 1;
  return {bytes.begin & ~mask, bytes.end > UINT64_MAX - mask ? UINT64_MAX : (bytes.end + mask) & ~mask};
}

}  // namespace

struct Sink::Impl {
  struct Write {
    WriteRun run;
    std::vector<Ticket> tickets;  // each ticket waits for this write
    std::uint64_t sequence = 0;
  };
  struct Sync {
    Ticket ticket;
    std::uint64_t barrier;  // writes with a smaller sequence come first
    bool on_disk = true;
    bool closes = false;
  };
  struct Flight {
    io::Op op;
    Write write;          // for a write
    Ticket sync = 0;      // for a datasync or close; 0 = the sink's own datasync, after an interval
    bool closes = false;  // for a datasync: a close follows
  };

  io::Storage& storage;
  SinkOptions options;
  std::uint32_t owner;
  io::Handle file = 0;
  DirectWay direct;
  Writeback writeback;

  Write open = {};  // the write that add() fills; it is empty if its run is
  std::deque<Write> waiting = {};
  std::unordered_map<std::uint32_t, Flight> flying = {};
  std::deque<Sync> syncs = {};
  Tickets tickets = {};
  SinkCounters counters = {};
  Status sticky = {};
  std::uint64_t next_sequence = 0;
  std::uint32_t next_slot = 0;
  std::uint64_t last_end = 0;
  std::uint64_t unsynced_bytes = 0;
  std::uint32_t writes_flying = 0;
  bool own_sync_flying = false;

  void add(const SinkSegment& segment, Ticket ticket);
  bool gathers(Extent next) const;
  void close_open();
  void enqueue(WriteRun run, const std::vector<Ticket>& its_tickets);
  void start();
  bool blocked(const Write& write) const;
  void submit(io::Request request, Flight flight);
  void start_syncs();
  void start_sync(const Sync& sync);
  void start_close(Ticket ticket, io::Handle handle);
  void finish_sync(const Flight& flight, const io::Completion& completion);
  void finish_write(Write& write, const io::Completion& completion);
  void written(Extent extent);
  bool in_flight(Extent extent) const;
};

bool Sink::Impl::in_flight(Extent extent) const {
  return std::any_of(flying.begin(), flying.end(), [&](const auto& one) {
    return one.second.op == io::Op::write && one.second.write.run.extent().intersects(extent);
  });
}

// True if a segment that is not adjacent to the open write goes into the same request.
bool Sink::Impl::gathers(Extent next) const {
  const Extent there = open.run.extent();
  return !direct.always() && next.begin > there.end && next.size() < options.gather_below_bytes &&
         there.begin / options.write_max_bytes == next.begin / options.write_max_bytes &&
         open.run.data.size() + 2 <= max_pieces;
}

// Adds a segment to the open write. Closes that write if it is full or the segment does not follow.
void Sink::Impl::add(const SinkSegment& segment, Ticket ticket) {
  Extent left{segment.offset, segment.offset + segment.length};
  const std::byte* data = segment.data;
  while (!left.empty()) {
    if (open.run.length > 0 && open.run.extent().end != left.begin) {
      if (gathers(left)) {
        open.run.leave_gap(left.begin - open.run.extent().end);
      } else {
        close_open();
      }
    }
    if (open.run.length == 0) open.run.offset = left.begin;
    const std::uint64_t limit = (open.run.offset / options.write_max_bytes + 1) * options.write_max_bytes;
    const std::uint64_t bytes = std::min(limit - left.begin, left.size());
    open.run.append(data, bytes);
    if (open.tickets.empty() || open.tickets.back() != ticket) {
      open.tickets.push_back(ticket);
      tickets.add(ticket, 1);
    }
    data += bytes;
    left.begin += bytes;
    if (open.run.extent().end == limit || open.run.data.size() >= max_pieces) close_open();
  }
}

void Sink::Impl::close_open() {
  if (open.run.length == 0) return;
  Write full = std::exchange(open, {});
  if (!direct.takes(full.run)) {
    enqueue(std::move(full.run), full.tickets);
  } else {
    std::vector<WriteRun> parts = split_direct(full.run, options.direct_min_bytes);
    for (const Ticket ticket : full.tickets) tickets.add(ticket, parts.size() - 1);
    for (WriteRun& part : parts) enqueue(std::move(part), full.tickets);
  }
  start();
}

void Sink::Impl::enqueue(WriteRun run, const std::vector<Ticket>& its_tickets) {
  waiting.push_back({std::move(run), its_tickets, next_sequence++});
}

bool Sink::Impl::blocked(const Write& write) const {
  return std::any_of(flying.begin(), flying.end(), [&](const auto& one) {
    if (one.second.op != io::Op::write) return false;
    const WriteRun& other = one.second.write.run;
    if (other.extent().intersects(write.run.extent())) return true;
    return (other.direct || write.run.direct) &&
           blocks(other.extent()).intersects(blocks(write.run.extent()));
  });
}

void Sink::Impl::submit(io::Request request, Flight flight) {
  const std::uint32_t slot = next_slot++;
  request.token = (std::uint64_t{owner} << 32) | slot;
  flying.emplace(slot, std::move(flight));
  storage.submit(std::move(request));
}

// Starts waiting writes in their order, until all places are taken or a write in flight blocks the next one.
void Sink::Impl::start() {
  while (!waiting.empty() && writes_flying < options.depth && !blocked(waiting.front())) {
    Write write = std::move(waiting.front());
    waiting.pop_front();
    counters.writes += 1 + write.run.gaps;
    counters.seeks += write.run.gaps + (write.run.offset != last_end ? 1 : 0);
    last_end = write.run.extent().end;
    writes_flying += 1;
    io::Request request;
    request.file = write.run.direct ? *direct.handle() : file;
    request.offset = write.run.offset;
    request.data = std::move(write.run.data);
    submit(std::move(request), {io::Op::write, std::move(write), 0});
  }
  start_syncs();
}

void Sink::Impl::start_syncs() {
  // Sequences rise along `waiting`, so its front is its oldest write.
  std::uint64_t oldest = waiting.empty() ? next_sequence : waiting.front().sequence;
  for (const auto& [slot, flight] : flying) {
    if (flight.op == io::Op::write) oldest = std::min(oldest, flight.write.sequence);
  }
  while (!syncs.empty() && syncs.front().barrier <= oldest) {
    start_sync(syncs.front());
    syncs.pop_front();
  }
  const std::uint64_t interval = options.datasync_interval_bytes;
  if (interval != 0 && unsynced_bytes >= interval && !own_sync_flying) {
    own_sync_flying = true;
    start_sync({0, 0});
  }
}

void Sink::Impl::start_sync(const Sync& sync) {
  if (!sync.on_disk) return start_close(sync.ticket, file);
  counters.datasyncs += 1;
  if (options.meter != nullptr) options.meter->synced();
  unsynced_bytes = 0;
  io::Request request;
  request.op = io::Op::datasync;
  request.file = file;
  submit(std::move(request), {io::Op::datasync, {}, sync.ticket, sync.closes});
}

void Sink::Impl::start_close(Ticket ticket, io::Handle handle) {
  io::Request request;
  request.op = io::Op::close;
  request.file = handle;
  submit(std::move(request), {io::Op::close, {}, ticket, handle == file && direct.handle()});
}

// A close asks by every handle, because a file system may tell each open its own errors.
void Sink::Impl::finish_sync(const Flight& flight, const io::Completion& completion) {
  if (!completion.status.ok() && sticky.ok()) sticky = completion.status;
  if (flight.op == io::Op::datasync && flight.closes) return start_close(flight.sync, file);
  if (flight.op == io::Op::close && flight.closes) return start_close(flight.sync, *direct.handle());
  if (flight.sync == 0) {
    own_sync_flying = false;
  } else {
    tickets.finish(flight.sync, sticky);
  }
}

void Sink::Impl::finish_write(Write& write, const io::Completion& completion) {
  writes_flying -= 1;
  if (completion.status.ok()) {
    const bool past_cache = write.run.direct && completion.direct;
    direct.wrote(write.run, past_cache, completion);
    counters.bytes += write.run.payload();
    if (past_cache) counters.direct_bytes += write.run.length;
    unsynced_bytes += write.run.payload();
    // The kernel writes back runs with gaps at its own time, because later writes often fill the gaps.
    if (!past_cache && write.run.gaps == 0) written(write.run.extent());
  } else if (sticky.ok()) {
    sticky = completion.status;
  }
  for (const Ticket ticket : write.tickets) tickets.settle(ticket, completion.status);
}

void Sink::Impl::written(Extent extent) {
  const std::optional<Extent> range = writeback.written(extent);
  // The sink does not write back a range with a write in flight, because a page under writeback would delay
  // that write.
  if (!range || in_flight(*range)) return;
  counters.writebacks += 1;
  io::Request request;
  request.op = io::Op::writeback;
  request.file = file;
  request.offset = range->begin;
  request.length = range->size();
  submit(std::move(request), {io::Op::writeback, {}, 0});
}

Result<std::unique_ptr<Sink>> Sink::open(io::Storage& storage, Fd target, std::uint32_t owner,
                                         const SinkOptions& options) {
  const std::uint64_t most = options.write_max_bytes;
  if (most < io::direct_alignment || (most & (most - 1)) != 0 || options.depth == 0) return Code::invalid;
  const int number = target.get();
  const Result<io::Handle> file = storage.adopt(std::move(target), false);
  if (!file) return file.status();
  std::unique_ptr<Impl> impl(new Impl{.storage = storage,
                                      .options = options,
                                      .owner = owner,
                                      .file = *file,
                                      .direct = DirectWay(storage, options, number),
                                      .writeback = Writeback(options.writeback_step_bytes)});
  return std::unique_ptr<Sink>(new Sink(std::move(impl)));
}

Sink::Sink(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Sink::~Sink() { impl_->storage.release(impl_->file); }

Ticket Sink::put(std::span<const SinkSegment> batch) {
  // The batch itself counts as a write, so that it cannot complete before put() has added all its segments.
  const Ticket ticket = impl_->tickets.give(1);
  for (const SinkSegment& segment : batch) {
    impl_->counters.segments += 1;
    impl_->add(segment, ticket);
  }
  impl_->tickets.settle(ticket, {});
  return ticket;
}

void Sink::flush() { impl_->close_open(); }

Ticket Sink::sync() {
  const Ticket ticket = impl_->tickets.give();
  impl_->close_open();
  impl_->syncs.push_back({ticket, impl_->next_sequence});
  impl_->start();
  return ticket;
}

Ticket Sink::close(bool on_disk) {
  const Ticket ticket = impl_->tickets.give();
  impl_->close_open();
  impl_->syncs.push_back({ticket, impl_->next_sequence, on_disk, true});
  impl_->start();
  return ticket;
}

void Sink::note(Extent written) { impl_->written(written); }

void Sink::complete(const io::Completion& completion) {
  const auto found = impl_->flying.find(static_cast<std::uint32_t>(completion.token));
  assert(owner_of(completion.token) == impl_->owner && found != impl_->flying.end());
  impl_->counters.completions += 1;
  Impl::Flight flight = std::move(found->second);
  impl_->flying.erase(found);
  switch (flight.op) {
    case io::Op::write:
      impl_->finish_write(flight.write, completion);
      break;
    case io::Op::datasync:
    case io::Op::close:
      impl_->finish_sync(flight, completion);
      break;
    case io::Op::writeback:
    case io::Op::read:
    case io::Op::look:
    case io::Op::resize:
    case io::Op::call:
      break;
  }
  impl_->start();
}

void Sink::take(std::vector<Done>& done) { impl_->tickets.take(done); }

Status Sink::status() const { return impl_->sticky; }
std::size_t Sink::backlog() const { return impl_->waiting.size(); }
const SinkCounters& Sink::counters() const { return impl_->counters; }
bool Sink::direct() const { return impl_->direct.works(); }

bool Sink::idle() const {
  return impl_->open.run.length == 0 && impl_->waiting.empty() && impl_->flying.empty() &&
         impl_->syncs.empty() && impl_->tickets.all_taken();
}

}  // namespace millrace::sink
