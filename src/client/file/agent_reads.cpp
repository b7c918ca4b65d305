// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/file/agent_reads.hpp"

#include <algorithm>

#include "client/file/enrolment.hpp"
#include "client/file/file.hpp"
#include "transport/want_list.hpp"

namespace millrace::client {

Status AgentReads::read(const FileView& view, std::uint64_t position, const PieceSource& source,
                        std::uint64_t end) {
  ReadAhead* const ahead = carrier();
  return ahead != nullptr ? ahead->read(view, position, source, end) : Code::unsupported;
}

Result<std::unique_ptr<PendingRead>> AgentReads::start(const FileView& view, std::uint64_t position,
                                                       const PieceSource& source, std::uint64_t end) {
  ReadAhead* const ahead = carrier();
  if (ahead == nullptr) return Code::unsupported;
  return ahead->start(view, position, source, end);
}

void AgentReads::stop() {
  enrolment_.carrying.store(false);
  end(false);
}

ReadAhead* AgentReads::carrier() {
  return process_.is_child() || !enrolment_.carries_reads() ? nullptr : read_ahead();
}

// The first read makes it: nullptr if the agents do not carry reads, or have no window for this rank.
ReadAhead* AgentReads::read_ahead() {
  const std::lock_guard lock(mutex_);
  if (read_ahead_ || !enrolment_.carries_reads()) return read_ahead_.get();
  Session* const session = enrolment_.enroll(true);
  if (session == nullptr) return nullptr;
  ReadWindow* const window = session->window();
  if (window == nullptr) return nullptr;
  const std::uint64_t bytes = request_.file_bytes != 0 ? request_.file_bytes : enrolment_.file_bytes.load();
  read_ahead_ = std::make_unique<ReadAhead>(*window, enrolment_.slot(), bytes, request_.leaves_small);
  process_.read_aheads().add(target_.number(), *read_ahead_);
  return read_ahead_.get();
}

// Reads nothing ahead, so that the bytes are never older than the call. The next call begins anew after an
// error.
Status AgentReads::ask_server(const FileView& view, std::uint64_t position, const PieceSource& source,
                              std::uint64_t end) {
  Session* const session = enrolment_.session();
  if (session == nullptr || process_.is_child()) return Code::unsupported;
  const Session::Turn turn = session->take_turn();
  if (turn.window == nullptr) return Code::no_memory;
  return ReadAhead(*turn.window, enrolment_.slot(), end, false).read(view, position, source, end);
}

Result<std::uint64_t> AgentReads::size_on_server() {
  const FileView bytes;
  std::uint64_t size = 0;
  const Extent place = transport::size_place;
  const PieceSource source(bytes, place.begin, bytes.filetype(), &size, place.size());
  const Status come = ask_server(bytes, place.begin, source, place.end);
  if (!come.ok()) return come;
  enrolment_.file_bytes.store(size);
  return size;
}

// A list must not go over the end of the file: it may share its way with lists of other ranks.
Result<std::uint64_t> AgentReads::read_from_server(const FileView& view, std::uint64_t position,
                                                   const PieceSource& source, std::uint64_t end) {
  std::uint64_t size = enrolment_.file_bytes.load();
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
  enrolment_.file_bytes.store(0);  // the file may have become shorter
  return read_from_server(view, position, source, end);
}

void AgentReads::forget_size() {
  if (!request_.stand_in.empty()) enrolment_.file_bytes.store(0, std::memory_order_relaxed);
}

void AgentReads::end(bool closes) {
  const std::lock_guard lock(mutex_);
  if (!read_ahead_) return;
  if (closes) process_.read_aheads().remove(*read_ahead_);
  read_ahead_->drop();
}

}  // namespace millrace::client
