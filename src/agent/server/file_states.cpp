// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/server/file_states.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/file_system.hpp"
#include "transport/line.hpp"

namespace millrace::agent {

using transport::SharedFileState;

void FileStates::opened(FileSlot file, const transport::FileNumbers& numbers,
                        const transport::Routing& routing, const Core& core) {
  const std::uint32_t routed = routing.lanes == 0       ? 0
                               : routing.stands_in != 0 ? transport::routed_stand_in
                                                        : transport::routed_everywhere;
  if (file >= slots_.size()) slots_.resize(file + 1);
  if (routed != 0) page_.files[file].routed.store(routed);
  if (slots_[file].opens++ > 0) return;
  page_.files[file].routed.store(routed);
  slots_[file] = {};
  slots_[file].opens = 1;
  // No rank has the file open, so its bytes here come from ranks that have gone without a close.
  slots_[file].draining = slots_[file].drained = core.dirty(file);
  page_.files[file].fresh.store(0);
  page_.files[file].held.store(core.dirty(file) ? UINT64_MAX : 0);
  page_.files[file].end.store(core.dirty(file) ? UINT64_MAX : 0);
  page_.files[file].kept.store(core.keeps(file) ? 1 : 0);
  page_.files[file].dirty.store(core.dirty(file) ? transport::state_draining : transport::state_clean);
  page_.files[file].code.store(0, std::memory_order_seq_cst);
  page_.files[file].lasting.store(numbers.lasting);
  page_.files[file].number.store(numbers.number);
  if (page_.slots.load() <= file) page_.slots.store(file + 1);
  page_.openings.fetch_add(1);
}

void FileStates::closed(FileSlot file) {
  if (!in_use(file) || --slots_[file].opens > 0) return;
  SharedFileState& state = page_.files[file];
  if (state.dirty.exchange(transport::state_left) == transport::state_clean) state.number.store(0);
}

void FileStates::damaged(FileSlot file) {
  if (!in_use(file)) return;
  slots_[file].damaged = true;
  tell(file, Code::corrupt);
}

Status FileStates::status(FileSlot file, Status fallback) const {
  const bool damaged = file < slots_.size() && slots_[file].damaged;
  return damaged && fallback.ok() ? Status(Code::corrupt) : fallback;
}

void FileStates::begin_drain() {
  for (FileSlot file = 0; file < slots_.size(); ++file) {
    Slot& slot = slots_[file];
    if (slot.opens == 0) continue;
    const std::uint64_t places = page_.files[file].fresh.load();
    if (places != 0) {  // in this order: at each moment, a bit is in one of the two
      page_.files[file].held.fetch_or(places);
      page_.files[file].fresh.fetch_and(~places);
    }
    std::uint32_t expected = transport::state_dirty;
    if (page_.files[file].dirty.compare_exchange_strong(expected, transport::state_draining))
      slot.draining = true;
    slot.drained = false;
  }
}

void FileStates::end_drain() {
  for (Slot& slot : slots_) slot.drained = slot.draining;
}

// A silence shorter than this has no name.
constexpr std::uint64_t named_from_ms = 500;

void FileStates::listen(const Core& core) {
  std::uint64_t longest_ms = 0;
  FileSlot silent = 0;
  waits_ = false;
  for (FileSlot file = 0; file < slots_.size(); ++file) {
    const Core::Look look = core.look(file);
    const std::uint64_t ms = std::min<std::uint64_t>(look.silent_ns / 1'000'000, UINT32_MAX);
    waits_ |= look.in_flight;
    std::atomic<std::uint32_t>& shown = page_.files[file].silent_ms;  // ranks read its cache line
    if (shown.load(std::memory_order_relaxed) != ms) shown.store(static_cast<std::uint32_t>(ms));
    if (ms < named_from_ms) slots_[file].named = false;
    if (ms <= longest_ms) continue;
    longest_ms = ms;
    silent = file;
  }
  page_.stall.silent_ms.store(static_cast<std::uint32_t>(longest_ms), std::memory_order_relaxed);
  if (longest_ms >= named_from_ms && !std::exchange(slots_[silent].named, true)) name(core.look(silent));
}

void FileStates::name(const Core::Look& file) {
  std::string where(file.path);
  if (file.silent_journals.empty()) {
    const std::string system = file_system_of(file.identity.device);
    where.append(": the file system").append(system.empty() ? "" : " (" + system + ")");
  } else {
    where.append(": the file system of the journals in ").append(file.silent_journals);
  }
  transport::write_line(page_.stall.where, where);
}

void FileStates::tell(const Core::News& news) {
  for (std::size_t i = 0; i < std::size(page_.stuck); ++i) {
    const bool rest = i + 1 == std::size(page_.stuck) && news.stuck.size() > std::size(page_.stuck);
    page_.stuck[i].store(rest                     ? transport::any_file
                         : i >= news.stuck.size() ? 0
                                                  : transport::numbers_of(news.stuck[i]).number);
  }
  for (const std::string& line : news.messages) {
    if (lines_.size() < most_lines) lines_.push_back(line);
  }
  if (lines_.empty() || !transport::line_is_free(page_.said)) return;
  transport::write_line(page_.said, lines_.front());
  lines_.pop_front();
}

void FileStates::refresh(const Core& core) {
  listen(core);
  for (FileSlot file = 0; file < slots_.size(); ++file) {
    Slot& slot = slots_[file];
    if (slot.opens == 0) {
      // The file was closed while bytes were pending. It has ended now.
      if (page_.files[file].number.load() != 0 && core.file_number(file) == 0)
        page_.files[file].number.store(0);
      continue;
    }
    if (!slot.told) {
      const Status status = core.error(file);
      if (!status.ok()) tell(file, status);
    }
    page_.files[file].kept.store(core.keeps(file) ? 1 : 0);
    if (!slot.drained || core.dirty(file)) continue;
    page_.files[file].held.store(0);
    std::uint32_t expected = transport::state_draining;
    page_.files[file].dirty.compare_exchange_strong(expected, transport::state_clean);
    slot.draining = slot.drained = false;
  }
}

void FileStates::tell(FileSlot file, Status status) {
  SharedFileState& state = page_.files[file];
  state.error.store(status.error(), std::memory_order_relaxed);
  state.code.store(static_cast<std::uint32_t>(status.code()), std::memory_order_seq_cst);
  slots_[file].told = true;
}

}  // namespace millrace::agent
