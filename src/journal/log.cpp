// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "journal/log.hpp"

#include <cassert>

namespace millrace::journal {

namespace {

constexpr std::uint64_t batch_bytes = 2 * MiB;
// A batch with less room may not fit the largest data record.
constexpr std::uint64_t room_needed = record_bytes(payload_max);
static_assert(batch_bytes > room_needed);

// The lower half of a token.
constexpr std::uint32_t write_token = 0;
constexpr std::uint32_t read_token = 1;
constexpr std::uint32_t state_token = 2;

}  // namespace

Log::Log(io::Storage& storage, std::uint32_t& next_owner, const Identity& identity)
    : storage_(storage), owner_(next_owner++), start_(start_of(identity)) {}

Status Log::open(Fd file) {
  const Result<io::Handle> handle = storage_.adopt(std::move(file), false);
  if (!handle) return handle.status();
  file_ = *handle;
  put_state();
  return {};
}

Log::~Log() {
  if (file_) storage_.release(*file_);
}

bool Log::ready() const { return !status_.ok() || batch_.size() + room_needed <= batch_bytes; }

void Log::append(std::uint64_t offset, std::span<const std::byte> data, std::uint64_t stamp) {
  assert(ready() && !data.empty() && data.size() <= payload_max && offset <= UINT64_MAX - data.size());
  if (!status_.ok()) return;
  put_record(batch_, {Type::data, appended_.records++, stamp, offset, data}, start_.header.checksum);
  appended_.payload_bytes += data.size();
  if (batch_.size() + room_needed > batch_bytes) start();
}

void Log::flush() {
  if (!status_.ok()) return;
  wanted_ = !batch_.empty();
  start();
}

void Log::sync() {
  if (!status_.ok()) return;
  to_sync_ = appended_;
  flush();
}

bool Log::set_state(State state) {
  if (start_.sector.state == State::done || std::exchange(start_.sector.state, state) == state) return false;
  change();
  return true;
}

void Log::show_life(bool progress) {
  start_.sector.progress += progress ? 1 : 0;
  change();
}

void Log::set_alive(std::uint64_t alive_ns) {
  if (std::exchange(start_.sector.alive_ns, alive_ns) != alive_ns) change();
}

void Log::set_agent(std::uint64_t number) {
  if (std::exchange(start_.sector.agent, number) != number) change();
}

void Log::forget(const Place& place) {
  if (place.records <= start_.sector.begin.records) return;
  start_.sector.begin = place;
  change();
}

void Log::note(Writers writers, const FileState& target) {
  start_.sector.writers = writers;
  start_.sector.target = target;
  change();
}

void Log::change() {
  changed_ = true;
  put_state();
}

// The first time with the header: a state without a header would look like damage.
void Log::put_state() {
  if (!changed_ || stating_ || !file_ || !status_.ok()) return;
  changed_ = false;
  stating_ = true;
  stated_ = start_;
  stated_.sector = sealed(start_.sector, start_.header.checksum);
  const std::uint64_t from = seen_ ? sizeof(FileHeader) : 0;
  io::Request request;
  request.op = io::Op::write;
  request.offset = from;
  request.data = {{reinterpret_cast<std::byte*>(&stated_) + from, sizeof stated_ - from}};
  request.token = state_token;
  submit(std::move(request));
}

void Log::read(const Segment& segment) {
  assert(!reading());
  read_.under_way = true;
  read_.segment = segment;
  read_.bytes.resize(segment.bytes);
  io::Request request;
  request.op = io::Op::read;
  request.offset = segment.position;
  request.data = {{read_.bytes.data(), read_.bytes.size()}};
  request.token = read_token;
  submit(std::move(request));
}

void Log::submit(io::Request request) {
  request.file = *file_;
  request.token |= std::uint64_t{owner_} << 32;
  storage_.submit(std::move(request));
}

// Starts the next write or datasync of records, if none is in flight. A datasync covers all states before it.
void Log::start() {
  if (!status_.ok() || !seen_ || !flying_.empty() || syncing_) return;
  const bool full = batch_.size() + room_needed > batch_bytes;
  io::Request request;
  request.token = write_token;
  if (to_sync_ && written_.records >= to_sync_->records) {
    if (changed_ || stating_) return;
    to_sync_.reset();
    syncing_ = written_;
    forgetting_ = start_.sector.begin.records;
    request.op = io::Op::datasync;
    submit(std::move(request));
  } else if (full || wanted_) {
    std::swap(batch_, flying_);
    wanted_ = false;
    request.op = io::Op::write;
    request.offset = position_;
    request.data = {{flying_.data(), flying_.size()}};
    position_ += flying_.size();
    flying_end_ = appended_;
    submit(std::move(request));
  }
}

void Log::complete(const io::Completion& completion) {
  ++completions_;
  if (static_cast<std::uint32_t>(completion.token) == read_token) {
    read_.under_way = false;
    read_.status = completion.status;
    if (read_.status.ok() && completion.bytes < read_.bytes.size()) read_.status = Code::corrupt;
    return;
  }
  assert(in_flight());
  if (static_cast<std::uint32_t>(completion.token) == state_token) {
    stating_ = false;
    if (!completion.status.ok()) return fail(completion.status);
    seen_ = stated_.sector;
    put_state();
    return start();
  }
  if (status_.ok()) status_ = completion.status;
  if (status_.ok() && syncing_) {
    // The commit record does not depend on ready(): a batch may be larger than batch_bytes.
    if (syncing_->payload_bytes > stable_.payload_bytes) {
      put_record(batch_, {Type::commit, appended_.records++, 0, syncing_->payload_bytes, {}},
                 start_.header.checksum);
      wanted_ = true;
    }
    stable_ = *syncing_;
    forgotten_ = forgetting_;
  }
  if (status_.ok() && !flying_.empty()) written_ = flying_end_;
  flying_.clear();
  syncing_.reset();
  if (!status_.ok()) return fail(status_);
  start();
}

void Log::fail(Status status) {
  if (status_.ok()) status_ = status;
  batch_.clear();
  wanted_ = changed_ = false;
  to_sync_.reset();
}

bool Log::idle() const { return batch_.empty() && !in_flight() && !to_sync_ && (!changed_ || !file_); }

}  // namespace millrace::journal
