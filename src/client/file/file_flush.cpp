// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The flushes of an open file: pending bytes reach the file system.
#include "client/file/ledgers.hpp"
#include "client/file/opened_file.hpp"
#include "client/session/ask_files.hpp"
#include "client/session/trace.hpp"

namespace millrace::client {

using transport::Kind;

Status OpenedFile::flush(Before what, Extent extent) {
  switch (what) {
    case Before::read:
      break;
    case Before::write:
      return before_writing(extent);
    case Before::size:
      return before_size();
    case Before::resize:
      return before_writing(enrolment_.pending_end() <= extent.begin ? Extent{} : everything);
    case Before::others_write:
      return before_others_write();
    case Before::others_read:
      return before_others_read();
  }
  return before_reading(extent);
}

Status OpenedFile::before_reading(Extent extent) {
  if (extent.empty() || process_.is_child()) return {};
  account_.note_question();
  // The agents may read ahead of this read, and then the bytes of earlier writes have to be in the file too.
  if (enrolment_.carries_reads()) extent = everything;
  const Status status = flush_own(extent);
  return status.ok() ? successor_.before_reading(target_.number(), extent, &target_) : status;
}

// A handle that only reads has no bytes of its own: it asks for those of other handles, as a guest. So does a
// rank that registers late, because to register is to open the file again.
Status OpenedFile::flush_own(Extent extent) {
  Session* session = request_.only_reads() ? nullptr : enrolment_.session();
  // Another rank may have bytes pending, though this one never wrote.
  if (session == nullptr && !request_.only_reads() && !request_.late && enrolment_.known_to_agent())
    session = enrolment_.enroll(false);
  if (session == nullptr) {
    const Status status = guest_.before_reading(target_.number(), extent, &target_);
    return status.ok() ? enrolment_.without_agent() : status;
  }
  const bool dirty = session->view().dirty(enrolment_.slot());
  const bool elsewhere = elsewhere_.exchange(false, std::memory_order_relaxed);
  if (!dirty && !elsewhere) return enrolment_.sticky();
  if (elsewhere) extent = everything;
  extent = process_.with_the_end(extent, target_);
  const TraceSpan span("flush", extent.size());
  counts().flushes.fetch_add(1, std::memory_order_relaxed);
  const Status status = enrolment_.ask(Kind::flush, extent);
  if (elsewhere && !status.ok()) elsewhere_.store(true, std::memory_order_relaxed);
  return status;
}

Status OpenedFile::before_size() {
  const std::uint64_t end = enrolment_.pending_end();
  const auto reaches = [&] {
    const Result<std::uint64_t> size = process_.size_of(target_.lasting_path());
    return size.ok() && *size >= end;
  };
  // The end may be from before the file was cut. Then all pending bytes may lie before it.
  if (end == UINT64_MAX) return before_reading(everything);
  if (reaches()) return enrolment_.sticky();
  const Status status = before_reading({end - 1, end});
  return !status.ok() || reaches() ? status : before_reading(everything);
}

// The write has to wait only for pending bytes that it overlaps.
Status OpenedFile::before_writing(Extent extent) {
  enrolment_.hold_for_sync();
  const Status status = flush_own_before_writing(extent);
  return status.ok() ? successor_.before_writing(target_.number(), extent) : status;
}

Status OpenedFile::flush_own_before_writing(Extent extent) {
  Session* session = enrolment_.session();
  if (session == nullptr && enrolment_.barred.load(std::memory_order_relaxed) != Reason::none) {
    const Status status = guest_.before_writing(target_.number(), extent);
    const Status dead = enrolment_.settle_dead_ledgers();
    if (!dead.ok()) return dead;
    return status.ok() ? enrolment_.without_agent() : status;
  }
  if (keeps_ledger(request_.settings)) return forget_ledger();
  if (session != nullptr && !process_.is_child() && !elsewhere_.load(std::memory_order_relaxed) &&
      !session->view().pending(enrolment_.slot(), extent))
    return enrolment_.sticky();
  return extent.empty() || process_.is_child() ? Status() : flush_own(extent);
}

// Brings all records of the ledger to the file's disk, and makes the ledger forget them.
Status OpenedFile::settle_ledger() {
  Session* session = enrolment_.session_of_group();
  if (session == nullptr) {
    if (const Status heard = guest_.reach(target_.number()); !heard.ok()) return heard;
    const Status dead = enrolment_.settle_dead_ledgers();
    return dead.ok() ? enrolment_.without_agent() : dead;
  }
  Status status =
      session->view().keeps(enrolment_.slot()) ? enrolment_.ask(Kind::sync, everything) : enrolment_.sticky();
  // Ranks that have closed the file may have left a ledger in another slot.
  if (status.ok())
    status = settle_ledgers_of(*session, {.number = target_.number()}, enrolment_.tally, enrolment_.slot());
  return status;
}

Status OpenedFile::before_others_write() {
  // Bytes that were read ahead lack later writes by ranks of other nodes.
  if (enrolment_.carries_reads() && !request_.only_reads()) process_.read_aheads().drop(target_.number());
  reads_.forget_size();
  Session* session = enrolment_.session();
  if (session == nullptr || request_.only_reads()) guest_.order();
  if (session == nullptr || request_.only_reads() || process_.is_child()) return {};
  if (request_.routing.lanes == 0) return enrolment_.see_death();
  elsewhere_.store(true, std::memory_order_relaxed);
  // Recovery replays ledgers of several nodes in any order, perhaps over later bytes of other ranks.
  if (keeps_ledger(request_.settings)) return settle_ledger();
  if (!on_the_way_.exchange(false, std::memory_order_relaxed)) return enrolment_.sticky();
  const TraceSpan span("order");
  return enrolment_.request(Kind::arrive, everything);
}

Status OpenedFile::before_others_read() {
  reads_.forget_size();
  Session* session = enrolment_.session();
  if (session == nullptr || process_.is_child()) return {};
  if (!session->view().dirty(enrolment_.slot())) return enrolment_.sticky();
  const TraceSpan span("publish");
  return enrolment_.request(Kind::flush, everything);
}

}  // namespace millrace::client
