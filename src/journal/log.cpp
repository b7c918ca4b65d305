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
    : storage_(storage), owner_(next_owner++), start_(identity) {}

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
  put_record(batch_, {Type::data, appended_.records++, stamp, offset, data}, start_.now().header.checksum);
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

bool Log::set_state(LogState state) {
  const LogState now = start_.now().sector.state;
  if (now == LogState::done || now == state) return false;
  start_.change().state = state;
  put_state();
  return true;
}

void Log::show_life(bool progress) {
  start_.change().progress += progress ? 1 : 0;
  put_state();
}

void Log::set_alive(std::uint64_t alive_ns) {
  if (start_.now().sector.alive_ns == alive_ns) return;
  start_.change().alive_ns = alive_ns;
  put_state();
}

void Log::set_agent(std::uint64_t number) {
  if (start_.now().sector.agent == number) return;
  start_.change().agent = number;
  put_state();
}

void Log::forget(const LogPlace& place) {
  if (place.records <= start_.now().sector.begin.records) return;
  start_.change().begin = place;
  put_state();
}

void Log::note(Writers writers, const FileState& target) {
  StateSector& state = start_.change();
  state.writers = writers;
  state.target = target;
  put_state();
}

void Log::put_state() {
  if (!status_.ok()) return start_.give_up();
  io::Request request;
  request.token = state_token;
  if (file_ && start_.next(request)) submit(std::move(request));
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

// Starts the next write or datasync of records, if none is in flight. A datasync covers the latest begin.
void Log::start() {
  if (!status_.ok() || !start_.seen() || !flying_.empty() || syncing_) return;
  const bool full = batch_.size() + room_needed > batch_bytes;
  io::Request request;
  request.token = write_token;
  if (to_sync_ && written_.records >= to_sync_->records) {
    if (start_.seen()->begin.records != start_.now().sector.begin.records) return;
    to_sync_.reset();
    syncing_ = written_;
    forgetting_ = start_.now().sector.begin.records;
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
    start_.end(completion.status.ok());
    if (!completion.status.ok()) return fail(completion.status);
    put_state();
    return start();
  }
  if (status_.ok()) status_ = completion.status;
  if (status_.ok() && syncing_) {
    // The commit record does not depend on ready(): a batch may be larger than batch_bytes.
    if (syncing_->payload_bytes > stable_.payload_bytes) {
      put_record(batch_, {Type::commit, appended_.records++, 0, syncing_->payload_bytes, {}},
                 start_.now().header.checksum);
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
  wanted_ = false;
  start_.give_up();
  to_sync_.reset();
}

bool Log::idle() const { return batch_.empty() && !in_flight() && !to_sync_ && !(file_ && start_.behind()); }

}  // namespace millrace::journal
