// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// An open file before and while it is read: pending bytes reach the file, and bytes come from the agents.
#include <algorithm>

#include "client/file/opened_file.hpp"
#include "client/session/trace.hpp"
#include "transport/want_list.hpp"

namespace millrace::client {

using transport::Kind;

Status OpenedFile::flush(Extent extent) {
  if (extent.empty() || process_.is_child()) return {};
  account_.note_question();
  // The agents may read ahead of this read, and then the bytes of earlier writes have to be in the file too.
  if (carries_reads()) extent = everything;
  const Status status = flush_own(extent);
  return status.ok() ? successor_.before_reading(target_.number(), extent, &target_) : status;
}

// A handle that only reads has no bytes of its own. It asks for those of other handles.
Status OpenedFile::flush_own(Extent extent) {
  if (only_reads()) return ask_before_reading(extent);
  Session* session = session_.load(std::memory_order_acquire);
  if (session == nullptr) {
    // A rank that registers late asks as a guest, because to register is to open the file again.
    if (request_.late) return ask_before_reading(extent);
    // Another rank may have bytes pending, though this one never wrote.
    if (!known_to_agent() || !enroll(false)) return ask_before_reading(extent);
    session = session_.load();
  }
  const bool dirty = session->view().dirty(slot_);
  const bool elsewhere = elsewhere_.exchange(false, std::memory_order_relaxed);
  if (!dirty && !elsewhere) return session->sticky(slot_);
  if (elsewhere) extent = everything;
  extent = process_.with_the_end(extent, target_);
  const TraceSpan span("flush", extent.size());
  counts().flushes.fetch_add(1, std::memory_order_relaxed);
  const Status status = ask(*session, Kind::flush, extent);
  if (elsewhere && !status.ok()) elsewhere_.store(true, std::memory_order_relaxed);
  return status;
}

std::uint64_t OpenedFile::pending_end() {
  if (process_.is_child() || request_.routing.lanes > 0 || keeps_ledger(request_.settings)) return UINT64_MAX;
  if (!registered() && known_to_agent()) (void)enroll(false);  // bytes of other ranks
  Session* session = session_.load(std::memory_order_acquire);
  const bool known = session != nullptr && !session->gone() && !only_reads();
  return known ? session->view().end_of(target_.number()) : UINT64_MAX;
}

Status OpenedFile::flush_end() {
  const std::uint64_t end = pending_end();
  const auto reaches = [&] {
    const Result<std::uint64_t> size = process_.size_of(target_.lasting_path());
    return size.ok() && *size >= end;
  };
  // The end may be from before the file was cut. Then all pending bytes may lie before it.
  if (end == UINT64_MAX) return flush(everything);
  if (reaches()) return session_.load()->sticky(slot_);
  const Status status = flush({end - 1, end});
  return !status.ok() || reaches() ? status : flush(everything);
}

Status OpenedFile::prepare_resize(std::uint64_t bytes) {
  return prepare_direct_write(pending_end() <= bytes ? Extent{} : everything);
}

Status OpenedFile::ask_before_reading(Extent extent) {
  const Status status = guest_.before_reading(target_.number(), extent, &target_);
  return status.ok() ? without_agent() : status;
}

// The first read makes it: nullptr if the agents do not carry reads, or have no window for this rank.
ReadAhead* OpenedFile::read_ahead() {
  const std::lock_guard lock(ahead_mutex_);
  if (read_ahead_ || !carries_reads() || !enroll(true)) return read_ahead_.get();
  Session* const session = session_.load(std::memory_order_acquire);
  ReadWindow* const window = session->window();
  if (window == nullptr) return nullptr;
  const std::uint64_t bytes = request_.file_bytes != 0 ? request_.file_bytes : file_bytes_.load();
  read_ahead_ = std::make_unique<ReadAhead>(*window, slot_, bytes, request_.leaves_small);
  process_.read_aheads().add(target_.number(), *read_ahead_);
  return read_ahead_.get();
}

// Reads nothing ahead, so that the bytes are never older than the call. The next call begins anew after an
// error.
Status OpenedFile::ask_server(const FileView& view, std::uint64_t position, const PieceSource& source,
                              std::uint64_t end) {
  Session* const session = session_.load(std::memory_order_acquire);
  if (session == nullptr || process_.is_child()) return Code::unsupported;
  const Session::Turn turn = session->take_turn();
  if (turn.window == nullptr) return Code::no_memory;
  return ReadAhead(*turn.window, slot_, end, false).read(view, position, source, end);
}

Result<std::uint64_t> OpenedFile::size_on_server() {
  const FileView bytes;
  std::uint64_t size = 0;
  const Extent place = transport::size_place;
  const PieceSource source(bytes, place.begin, bytes.filetype(), &size, place.size());
  const Status come = ask_server(bytes, place.begin, source, place.end);
  if (!come.ok()) return come;
  file_bytes_.store(size);
  return size;
}

// A list must not go over the end of the file: it may share its way with lists of other ranks.
Result<std::uint64_t> OpenedFile::read_from_server(const FileView& view, std::uint64_t position,
                                                   const PieceSource& source, std::uint64_t end) {
  std::uint64_t size = file_bytes_.load();
  const bool known = end <= size;
  if (!known) {
    const Result<std::uint64_t> now = size_on_server();
    if (!now) return now;
    size = *now;
  }
  PieceSource there = source;
  if (end > size) {
    const std::uint64_t before = view.position_of(size);
    there.limit(before - std::min(before, position));
  }
  if (there.bytes_left() == 0) return std::uint64_t{0};
  const Status come = ask_server(view, position, there, std::min(end, size));
  if (come.ok()) return there.bytes_left();
  if (!known || come.code() != Code::io) return come;
  file_bytes_.store(0);  // the file may have become shorter
  return read_from_server(view, position, source, end);
}

void OpenedFile::end_reading(bool closes) {
  const std::lock_guard lock(ahead_mutex_);
  if (!read_ahead_) return;
  if (closes) process_.read_aheads().remove(*read_ahead_);
  read_ahead_->drop();
}

}  // namespace millrace::client
