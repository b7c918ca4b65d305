// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// An open file before it is read: pending bytes reach the file.
#include "client/file/opened_file.hpp"
#include "client/session/trace.hpp"

namespace millrace::client {

using transport::Kind;

Status OpenedFile::flush(Extent extent) {
  if (extent.empty() || process_.is_child()) return {};
  account_.note_question();
  // The agents may read ahead of this read, and then the bytes of earlier writes have to be in the file too.
  if (enrolment_.carries_reads()) extent = everything;
  const Status status = flush_own(extent);
  return status.ok() ? successor_.before_reading(target_.number(), extent, &target_) : status;
}

// A handle that only reads has no bytes of its own. It asks for those of other handles.
Status OpenedFile::flush_own(Extent extent) {
  if (request_.only_reads()) return ask_before_reading(extent);
  Session* session = enrolment_.session();
  if (session == nullptr) {
    // A rank that registers late asks as a guest, because to register is to open the file again.
    if (request_.late) return ask_before_reading(extent);
    // Another rank may have bytes pending, though this one never wrote.
    session = enrolment_.known_to_agent() ? enrolment_.enroll(false) : nullptr;
    if (session == nullptr) return ask_before_reading(extent);
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

Status OpenedFile::flush_end() {
  const std::uint64_t end = enrolment_.pending_end();
  const auto reaches = [&] {
    const Result<std::uint64_t> size = process_.size_of(target_.lasting_path());
    return size.ok() && *size >= end;
  };
  // The end may be from before the file was cut. Then all pending bytes may lie before it.
  if (end == UINT64_MAX) return flush(everything);
  if (reaches()) return enrolment_.sticky();
  const Status status = flush({end - 1, end});
  return !status.ok() || reaches() ? status : flush(everything);
}

Status OpenedFile::prepare_resize(std::uint64_t bytes) {
  return prepare_direct_write(enrolment_.pending_end() <= bytes ? Extent{} : everything);
}

Status OpenedFile::ask_before_reading(Extent extent) {
  const Status status = guest_.before_reading(target_.number(), extent, &target_);
  return status.ok() ? enrolment_.without_agent() : status;
}

}  // namespace millrace::client
