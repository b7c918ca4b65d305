// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/recovery/replay.hpp"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "agent/core/core.hpp"
#include "journal/reader.hpp"
#include "transport/stamp.hpp"

namespace millrace::agent {

namespace {

constexpr std::uint64_t sign_every_ns = 250'000'000;
constexpr std::size_t windows_bytes = 64 * MiB;  // of all readers together

// The next record of one log.
class Source {
 public:
  Source(const Replayed& log, std::size_t index, std::size_t window)
      : reader_(log.file, window), end_(log.end), generation_(log.generation), index_(index) {
    sound_ = reader_.open() == journal::Verdict::clean;
    rescue_ = reader_.header().kind == journal::LogKind::rescue;
  }

  // False at the end. sound() is then false if the log is not as it was checked.
  bool next() {
    while (sound_ && reader_.position() < end_) {
      sound_ = reader_.next(record_);
      if (sound_ && record_.type == journal::Type::data) return true;
    }
    return false;
  }
  bool sound() const { return sound_; }
  const journal::Record& record() const { return record_; }

  // A rank's ring may still have records that its ledger has too. Records whose stamps differ by less than
  // the quantum have no promised order. So the ledger goes first: otherwise such a record could come after a
  // later one of its rank.
  auto turn() const {
    const std::uint64_t later = rescue_ ? transport::stamp_quantum : 0;
    return std::tuple(generation_, record_.stamp + later, rescue_, reader_.header().created_ns, index_);
  }

 private:
  journal::JournalReader reader_;
  journal::Record record_;
  std::uint64_t end_, generation_;
  std::size_t index_;
  bool rescue_ = false;
  bool sound_ = false;
};

bool is_later(const std::unique_ptr<Source>& a, const std::unique_ptr<Source>& b) {
  return a->turn() > b->turn();
}

// Uses the agent's own pipeline, so that writes are large and in the order of the file.
class Replay {
 public:
  Replay(io::Storage& storage, Pace& pace, const std::function<void(bool)>& lives)
      : core_(storage, ""), storage_(storage), pace_(pace), lives_(lives) {}

  Status open(Fd target) {
    transport::Register registration{};
    registration.group = 1;
    registration.members = 1;
    registration.settings.strategy = Strategy::sort;
    registration.settings.durability = Durability::disk;
    registration.settings.record_max_bytes = journal::payload_max;
    Result<FileSlot> slot = core_.open(0, std::move(target), registration);
    if (slot) slot_ = *slot;
    return slot.status();
  }
  bool write(const journal::Record& record) {
    while (!core_.ready() && core_.error(slot_).ok()) step();
    if (!core_.error(slot_).ok()) return false;
    core_.write(0, slot_, record.offset, record.data);
    moved_ = true;
    show_life();
    return true;
  }
  Status close() {
    core_.close(0, slot_, 1, {});
    for (;;) {
      for (const Reply& reply : core_.take_replies()) return reply.status;
      step();
    }
  }

 private:
  void step() {
    const bool moved = core_.advance(pace_.now_ns());
    if (!moved) pace_.wait_for(storage_);
    moved_ |= moved;
    show_life();
  }
  void show_life() {
    const std::uint64_t now_ns = pace_.now_ns();
    if (now_ns - shown_ns_ < sign_every_ns) return;
    shown_ns_ = now_ns;
    lives_(std::exchange(moved_, false));
  }

  Core core_;
  io::Storage& storage_;
  Pace& pace_;
  const std::function<void(bool)>& lives_;
  FileSlot slot_ = 0;
  std::uint64_t shown_ns_ = 0;
  bool moved_ = false;  // since then
};

}  // namespace

Status replay(std::span<const Replayed> logs, Fd target, io::Storage& storage, Pace& pace,
              const std::function<void(bool)>& lives) {
  Replay to(storage, pace, lives);
  if (const Status opened = to.open(std::move(target)); !opened.ok()) return opened;
  const std::size_t window =
      std::min<std::size_t>(4 * MiB, windows_bytes / std::max<std::size_t>(logs.size(), 1));
  std::vector<std::unique_ptr<Source>> turns;
  bool sound = true;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    auto source = std::make_unique<Source>(logs[i], i, window);
    if (source->next())
      turns.push_back(std::move(source));
    else
      sound = sound && source->sound();
  }
  std::ranges::make_heap(turns, is_later);
  while (!turns.empty()) {
    std::ranges::pop_heap(turns, is_later);
    if (!to.write(turns.back()->record())) break;
    if (turns.back()->next()) {
      std::ranges::push_heap(turns, is_later);
      continue;
    }
    sound = sound && turns.back()->sound();
    turns.pop_back();
  }
  const Status written = to.close();
  return written.ok() && !sound ? Status(Code::corrupt) : written;
}

}  // namespace millrace::agent
