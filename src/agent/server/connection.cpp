// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/server/connection.hpp"

#include <algorithm>
#include <cstring>

#include "transport/want_list.hpp"

namespace millrace::agent {

using transport::FrameHeader;
using transport::Kind;

void Connection::greet(transport::Consumer ring, const transport::Hello& hello) {
  ring_ = std::move(ring);
  ring_bytes_ = hello.ring_bytes;
  pid_ = hello.pid;
  greeted_ = true;
}

void Connection::allow(FileSlot file, std::uint64_t record_max_bytes, bool kept, bool writes) {
  if (file >= opens_.size()) opens_.resize(file + 1);
  ++opens_[file].count;
  opens_[file].kept |= kept;
  writing_ += writes && !opens_[file].writes ? 1 : 0;
  opens_[file].writes |= writes;
  if (record_max_bytes > opens_[file].record_max_bytes) opens_[file].record_max_bytes = record_max_bytes;
}

void Connection::forbid(FileSlot file) {
  if (!allowed(file) || --opens_[file].count > 0) return;
  writing_ -= opens_[file].writes ? 1 : 0;
  opens_[file] = {};
}

Status Connection::take_window(Fd memory, std::uint64_t bytes) {
  if (window_.valid() || bytes == 0 || bytes > transport::max_window_bytes ||
      !transport::is_sealed_memory(memory.get(), bytes))
    return Code::invalid;
  Result<transport::Mapping> mapped = transport::map(memory.get(), bytes);
  if (!mapped) return mapped.status();
  window_ = *std::move(mapped);
  return {};
}

void Connection::put_wanted(std::uint32_t request, std::uint32_t position, std::span<const std::byte> bytes) {
  const auto want = wants_.find(request);
  if (want == wants_.end() || position > want->second.bytes || bytes.size() > want->second.bytes - position)
    return;
  std::memcpy(window_.data() + want->second.begin + position, bytes.data(), bytes.size());
}

std::vector<FileSlot> Connection::files() const {
  std::vector<FileSlot> files;
  for (FileSlot file = 0; file < opens_.size(); ++file) {
    if (opens_[file].count > 0) files.push_back(file);
  }
  return files;
}

std::uint64_t Connection::next_stamp() const {
  FrameHeader frame{};
  const std::byte* payload = nullptr;
  return ring_.peek(frame, payload) && transport::carries_records(frame.kind) ? frame.span : 0;
}

void Connection::give_back(const Core& core) {
  if (keeps_.empty() && fresh_keeps_.empty()) return;
  for (const FileSlot file : fresh_keeps_)
    keeps_.push_back({fresh_begin_, ring_.position(), file, core.ledger_mark(file)});
  fresh_keeps_.clear();
  const auto late = [&core](const Keep& keep) { return !core.kept(keep.file, keep.mark); };
  const auto first = std::ranges::find_if(keeps_, late);
  const std::uint64_t held = first == keeps_.end() ? UINT64_MAX : first->begin;
  // Each part that stays is looked at once, whatever files it has.
  for (auto part = std::ranges::find(keeps_, held, &Keep::begin); part != keeps_.end();) {
    const auto next =
        std::find_if(part, keeps_.end(), [&](const Keep& keep) { return keep.begin != part->begin; });
    if (!std::all_of(part, next, late)) {
      std::vector<bool> done(opens_.size());
      for (auto keep = part; keep != next; ++keep) done[keep->file] = !late(*keep);
      ring_.void_records(part->begin, part->end,
                         [&done](FileSlot file) { return file < done.size() && done[file]; });
    }
    part = next;
  }
  if (std::erase_if(keeps_, [&](const Keep& keep) { return !late(keep); }) == 0) return;
  ring_.keep_from(held);
  ring_.release();
}

// A guest has not registered the file, but may ask the agent to write the file's pending bytes.
bool Connection::may_be_guests(const FrameHeader& frame) {
  return (frame.kind == Kind::flush || frame.kind == Kind::sync) && frame.file < transport::max_files;
}

Drained Connection::drain(Core& core, std::uint64_t until, std::vector<PendingRequest>& requests,
                          std::vector<FileSlot>& damaged, std::string& why) {
  while (!ring_.empty()) {
    FrameHeader frame{};
    const std::byte* payload = nullptr;
    if (!ring_.peek(frame, payload)) {
      why = "a record does not fit its ring";
      return Drained::broken;
    }
    if (transport::carries_records(frame.kind)) {
      if (frame.span > until) return Drained::done;
      if (!core.ready()) return Drained::core_is_full;
    }
    const Drained taken = take(core, frame, payload, requests, damaged, why);
    if (taken != Drained::done) return taken;
    // Behind a record that is kept, a rescue must not find those that no ledger gets.
    const bool kept = std::ranges::find(fresh_keeps_, frame.file) != fresh_keeps_.end();
    if (!kept && (!keeps_.empty() || !fresh_keeps_.empty()))
      ring_.void_records(ring_.position(), ring_.position() + transport::record_bytes(frame.length),
                         [](FileSlot) { return true; });
    ring_.consume(frame);
  }
  return Drained::done;
}

// If the frame is not taken as a whole, it stays in the ring, and a later call gets it again.
Drained Connection::take(Core& core, const FrameHeader& frame, const std::byte* payload,
                         std::vector<PendingRequest>& requests, std::vector<FileSlot>& damaged,
                         std::string& why) {
  if (!allowed(frame.file) && !may_be_guests(frame)) {
    why = "a record names a file that was not registered";
    return Drained::broken;
  }
  const bool records = transport::carries_records(frame.kind);
  if ((records || frame.kind == Kind::note) && !opens_[frame.file].writes) {
    why = "a record names a file that was opened for reading";
    return Drained::broken;
  }
  if (records) return take_records(core, frame, payload, damaged, why);
  ++records_;
  if (frame.kind == Kind::note && frame.offset <= UINT64_MAX / 2 && frame.span <= UINT64_MAX / 2) {
    core.note(id_, frame.file, {frame.offset, frame.offset + frame.span});
    return Drained::done;
  }
  if (take_request(frame, payload, requests)) return Drained::done;
  why = "a record of an unknown kind";
  return Drained::broken;
}

Drained Connection::take_records(Core& core, const FrameHeader& frame, const std::byte* payload,
                                 std::vector<FileSlot>& damaged, std::string& why) {
  if (frame.length > opens_[frame.file].record_max_bytes || frame.request != 0 ||
      frame.offset > UINT64_MAX / 2) {
    why = "a record is larger than record_max, or its header is invalid";
    return Drained::broken;
  }
  if (!bundle_.begun() && transport::record_checksum(payload, frame.length, frame.offset) != frame.checksum) {
    damaged.push_back(frame.file);
    ++records_;
    return Drained::done;
  }
  if (opens_[frame.file].kept) keep_until_ledger_has(frame.file);
  if (frame.kind == Kind::write) {
    core.write(id_, frame.file, frame.offset, {payload, frame.length}, frame.span);
    ++records_;
    return Drained::done;
  }
  const Core::Bundled bundled =
      core.write_bundle(id_, frame.file, frame.offset, {payload, frame.length}, bundle_, frame.span);
  records_ += bundled.records;
  if (bundled.end == Core::Bundled::BundleEnd::corrupt) why = "a bundle of records is malformed";
  return drained(bundled.end);
}

void Connection::keep_until_ledger_has(FileSlot file) {
  if (std::ranges::find(fresh_keeps_, file) != fresh_keeps_.end()) return;
  if (fresh_keeps_.empty()) fresh_begin_ = ring_.position();
  if (keeps_.empty() && fresh_keeps_.empty()) ring_.keep_from(fresh_begin_);
  fresh_keeps_.push_back(file);
}

// False: the frame is no request, or malformed.
bool Connection::take_request(const FrameHeader& frame, const std::byte* payload,
                              std::vector<PendingRequest>& requests) {
  if (!transport::is_request(frame.kind) || frame.request == 0) return false;
  PendingRequest request{id_, frame, {}, ring_.position()};
  if (frame.kind == Kind::want && !take_want(frame, payload, request)) return false;
  if (frame.kind == Kind::close) {
    if (frame.length != sizeof request.counters) return false;
    std::memcpy(&request.counters, payload, sizeof request.counters);
    forbid(frame.file);  // this open sends nothing after its close
  }
  requests.push_back(std::move(request));
  return true;
}

bool Connection::take_want(const FrameHeader& frame, const std::byte* payload, PendingRequest& request) {
  if (!transport::read_want_list({payload, frame.length}, request.wanted)) return false;
  std::uint64_t bytes = 0;
  for (const Extent extent : request.wanted) bytes += extent.size();
  if (frame.offset > window_.size() || bytes > window_.size() - frame.offset) return false;
  if (wants_.size() == transport::reply_slots) return false;
  wants_[frame.request] = {frame.offset, bytes};
  request.frame.offset = 0;
  return true;
}

}  // namespace millrace::agent
