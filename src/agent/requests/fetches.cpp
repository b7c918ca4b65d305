// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/requests/fetches.hpp"

#include <algorithm>
#include <utility>

namespace millrace::agent {

Result<std::unique_ptr<Fetches>> Fetches::open(Shared& shared, Fd target) {
  const Result<io::Handle> handle = shared.storage.adopt(std::move(target), false);
  if (!handle) return handle.status();
  return std::unique_ptr<Fetches>(new Fetches(shared.storage, shared.next_owner++, *handle));
}

Fetches::~Fetches() { storage_.release(file_); }

// Pending records behind the extent may decide the file's size. Only the file server knows whether the file
// reaches the end of the extent without them.
Extent Fetches::depends_on(const FilePipeline& pipeline, Extent extent) {
  if (extent.empty()) return everything;
  if (pipeline.carries()) return {extent.begin, UINT64_MAX};
  const Result<std::uint64_t> size = storage_.size(file_);
  return {extent.begin, size.ok() && *size >= extent.end ? extent.end : UINT64_MAX};
}

void Fetches::begin(const Asked& asked) { fetches_.push_back({asked}); }

void Fetches::abandon(SenderId sender) {
  for (Fetch& fetch : fetches_) fetch.gone |= fetch.asked.upstream && fetch.asked.sender == sender;
}

void Fetches::submit(io::Op op, std::shared_ptr<Piece> piece, std::uint64_t length) {
  const std::uint32_t number = next_transfer_++;
  io::Request request{op, file_, piece->offset, length, {}, std::uint64_t{owner_} << 32 | number};
  if (!piece->bytes.empty()) request.data.push_back({piece->bytes.data(), piece->bytes.size()});
  transfers_.emplace(number, std::move(piece));
  storage_.submit(std::move(request));
}

void Fetches::complete(const io::Completion& completion) {
  if (sink::owner_of(completion.token) != owner_) return;
  const auto found = transfers_.find(static_cast<std::uint32_t>(completion.token));
  if (found == transfers_.end()) return;
  Piece& piece = *found->second;
  piece.done = true;
  piece.moved = completion.bytes;
  piece.status = completion.status;
  transfers_.erase(found);
}

bool Fetches::advance(FilePipeline& pipeline) {
  bool moved = pipeline.carries() && arrive(pipeline);
  std::size_t leaving = 0;
  fetches_.remove_if([&](Fetch& fetch) {
    if (fetch.step == Step::waiting && !pipeline.carries()) {
      moved = true;
      fetch.step = Step::leaving;
      if (fetch.asked.upstream) {
        start_leaving(fetch);
      } else {
        fetch.passed = true;  // the rank has the file itself
      }
    }
    if (fetch.step != Step::leaving || leaving++ >= leaving_max) return false;
    moved |= leave(fetch);
    if (!fetch.passed && !fetch.gone && fetch.status.ok()) return false;
    done_.push_back({fetch.asked.waiter, fetch.status});
    moved = true;
    return true;
  });
  return moved;
}

// --- arriving ---

Fetches::Iterator Fetches::arriving() { return std::ranges::find(fetches_, Step::arriving, &Fetch::step); }

bool Fetches::arrive(FilePipeline& pipeline) {
  bool moved = false;
  auto now = arriving();
  if (now == fetches_.end()) {
    now = std::ranges::find(fetches_, Step::waiting, &Fetch::step);
    if (now == fetches_.end()) return false;
    now->step = Step::arriving;
    now->ticket = pipeline.outlet().settle(transport::Kind::fetch, now->asked.extent, false);
    moved = true;
  }
  if (Status answer; pipeline.settlements().take_fetched(now->ticket, answer)) {
    now->answered = moved = true;
    if (now->status.ok()) now->status = answer;
  }
  for (const auto& write : writes_) {
    if (write->done && !write->status.ok() && now->status.ok()) now->status = write->status;
  }
  moved |= std::erase_if(writes_, [](const auto& write) { return write->done; }) > 0;
  bool more = true;
  while (writes_.size() < pieces_max) {
    Carrier::Data data;
    more = pipeline.outlet().take_data(data);
    if (!more) break;
    moved = true;
    if (data.bytes.empty()) {
      now->sized = true;
      now->file_bytes = data.file_bytes;
      continue;
    }
    if (!now->status.ok()) continue;
    auto piece = std::make_shared<Piece>(Piece{data.offset, std::move(data.bytes)});
    writes_.push_back(piece);
    submit(io::Op::write, std::move(piece));
  }
  if (!now->answered || more || !writes_.empty()) return moved;
  if (now->status.ok() && !now->sized) now->status = Code::corrupt;
  if (now->status.ok() && !std::exchange(now->resized, true)) {
    const Result<std::uint64_t> size = storage_.size(file_);
    now->status = size.status();
    if (size.ok() && *size != now->file_bytes) {
      writes_.push_back(std::make_shared<Piece>());
      submit(io::Op::resize, writes_.back(), now->file_bytes);
      return true;
    }
  }
  end_arrival(*now);
  return true;
}

// All arriving data has been written, and the file has its size.
void Fetches::end_arrival(Fetch& fetch) {
  fetch.step = Step::leaving;
  if (fetch.asked.upstream && fetch.status.ok()) {
    start_leaving(fetch);
  } else {
    fetch.passed = true;
  }
}

// --- leaving ---

// Takes the present size of the file: records that arrive during this fetch belong to later fetches.
void Fetches::start_leaving(Fetch& fetch) {
  const Result<std::uint64_t> size = storage_.size(file_);
  fetch.status = size.status();
  fetch.file_bytes = size.ok() ? *size : 0;
  fetch.next = fetch.asked.extent.begin;
  fetch.end = std::max(fetch.next, std::min(fetch.asked.extent.end, fetch.file_bytes));
}

bool Fetches::leave(Fetch& fetch) {
  if (fetch.gone || !fetch.status.ok()) return false;
  bool moved = false;
  while (fetch.next < fetch.end && fetch.pieces.size() < pieces_max) {
    const std::uint64_t size = std::min(piece_bytes, fetch.end - fetch.next);
    auto piece = std::make_shared<Piece>(Piece{fetch.next, std::vector<std::byte>(size)});
    fetch.pieces.push_back(piece);
    submit(io::Op::read, std::move(piece));
    fetch.next += size;
    moved = true;
  }
  return moved;
}

bool Fetches::pass(FetchTaker& to) {
  bool moved = false;
  for (Fetch& fetch : fetches_) {
    if (fetch.step == Step::leaving && fetch.asked.upstream && !fetch.gone && !fetch.passed)
      moved |= pass(fetch, to);
  }
  return moved;
}

bool Fetches::pass(Fetch& fetch, FetchTaker& to) {
  const SenderId sender = fetch.asked.sender;
  const std::uint32_t request = fetch.asked.request;
  bool moved = false;
  while (fetch.status.ok() && !fetch.pieces.empty() && fetch.pieces.front()->done && to.has_room(sender)) {
    const auto piece = std::exchange(fetch.pieces.front(), nullptr);
    fetch.pieces.pop_front();
    moved = true;
    fetch.status = piece->status;
    if (!fetch.status.ok()) break;
    if (piece->moved > 0)
      to.data(sender, request, piece->offset, std::span(piece->bytes).first(piece->moved));
    if (piece->moved == piece->bytes.size()) continue;
    // The file has become shorter since start_leaving().
    fetch.file_bytes = piece->offset + piece->moved;
    fetch.next = fetch.end;
    fetch.pieces.clear();
  }
  if (fetch.status.ok() && fetch.next == fetch.end && fetch.pieces.empty() && to.has_room(sender)) {
    to.end_of_data(sender, request, fetch.file_bytes);
    fetch.passed = moved = true;
  }
  return moved;
}

}  // namespace millrace::agent
