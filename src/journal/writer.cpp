// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "journal/writer.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace millrace::journal {

namespace {

constexpr std::uint64_t batch_bytes = 2 * MiB;
// Room that a batch needs to take any record: a run record, and the largest data record.
constexpr std::uint64_t room_needed = record_bytes(0) + record_bytes(payload_max);
static_assert(batch_bytes > room_needed + sizeof(FileHeader));

void add(std::vector<std::byte>& batch, const void* data, std::size_t bytes) {
  const auto* const from = static_cast<const std::byte*>(data);
  batch.insert(batch.end(), from, from + bytes);
}

}  // namespace

JournalWriter::JournalWriter(io::Storage& storage, io::Handle file, std::uint32_t owner, Layout layout)
    : storage_(storage), file_(file), owner_(owner), layout_(layout) {}

Result<std::unique_ptr<JournalWriter>> JournalWriter::create(io::Storage& storage, Fd file,
                                                             std::uint32_t owner, const Identity& identity) {
  const Result<io::Handle> handle = storage.adopt(std::move(file), false);
  if (!handle) return handle.status();
  std::unique_ptr<JournalWriter> writer(new JournalWriter(storage, *handle, owner, identity.layout));
  const FileHeader header = header_of(identity);
  writer->seed_ = header.checksum;
  add(writer->batch_, &header, sizeof header);
  return writer;
}

JournalWriter::~JournalWriter() { storage_.release(file_); }

bool JournalWriter::ready() const { return !status_.ok() || batch_.size() + room_needed <= batch_bytes; }

void JournalWriter::put(Type type, std::uint64_t offset, std::span<const std::byte> data) {
  const RecordHeader header = header_of_record(type, next_sequence_++, offset, data, seed_);
  const std::size_t end = batch_.size() + record_bytes(data.size());
  add(batch_, &header, sizeof header);
  add(batch_, data.data(), data.size());
  batch_.resize(end);  // the padding, zero
}

void JournalWriter::append(std::uint64_t offset, std::span<const std::byte> data) {
  assert(ready() && !data.empty() && data.size() <= payload_max && offset <= UINT64_MAX - data.size());
  if (!status_.ok()) return;
  if (layout_ == Layout::runs && (!run_end_ || offset < *run_end_)) {
    put(Type::run, 0, {});
    runs_ += 1;
  }
  run_end_ = offset + data.size();
  put(Type::data, offset, data);
  payload_bytes_ += data.size();
  if (batch_.size() + room_needed > batch_bytes) start();
}

void JournalWriter::flush() {
  if (!status_.ok()) return;
  wanted_ = !batch_.empty();
  start();
}

void JournalWriter::sync() {
  if (!status_.ok()) return;
  sync_wanted_ = true;
  sync_end_ = next_sequence_;
  sync_payload_ = payload_bytes_;
  flush();
}

void JournalWriter::submit(io::Request request) {
  request.file = file_;
  request.token = std::uint64_t{owner_} << 32;
  storage_.submit(std::move(request));
}

// Starts the next write or datasync, if none is in flight.
void JournalWriter::start() {
  if (!status_.ok() || !flying_.empty() || sync_flying_) return;
  const bool full = batch_.size() + room_needed > batch_bytes;
  io::Request request;
  if (sync_wanted_ && written_ >= sync_end_ && position_ > 0) {
    sync_wanted_ = false;
    sync_flying_ = true;
    syncing_ = written_;
    syncing_payload_ = sync_payload_;
    request.op = io::Op::datasync;
    submit(std::move(request));
  } else if (full || wanted_) {
    std::swap(batch_, flying_);
    wanted_ = false;
    request.op = io::Op::write;
    request.offset = position_;
    request.data = {{flying_.data(), flying_.size()}};
    position_ += flying_.size();
    flying_end_ = next_sequence_;
    submit(std::move(request));
  }
}

void JournalWriter::complete(const io::Completion& completion) {
  assert(!flying_.empty() || sync_flying_);
  if (status_.ok()) status_ = completion.status;
  if (status_.ok() && sync_flying_) {
    stable_ = syncing_;
    // It finds room also where ready() says no, and goes at once.
    if (syncing_payload_ > std::exchange(committed_payload_, syncing_payload_)) {
      put(Type::commit, syncing_payload_, {});
      wanted_ = true;
    }
  }
  if (status_.ok() && !flying_.empty()) written_ = flying_end_;
  flying_.clear();
  sync_flying_ = false;
  if (!status_.ok()) {
    batch_.clear();
    wanted_ = sync_wanted_ = false;
  }
  start();
}

bool JournalWriter::idle() const {
  return batch_.empty() && flying_.empty() && !sync_flying_ && !sync_wanted_;
}

}  // namespace millrace::journal
