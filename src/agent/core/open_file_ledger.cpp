// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The part of OpenFile that keeps a ledger.
#include <algorithm>
#include <utility>

#include "agent/core/open_file.hpp"
#include "journal/folder.hpp"

namespace millrace::agent {

namespace {

constexpr std::uint64_t show_every_ns = 250'000'000;

}  // namespace

void OpenFile::join(Shared& shared, const Fd& target, const FileSettings& settings) {
  for (const auto& lane : lanes) {
    if (settings.durability > lane->pipeline->settings().durability)
      lane->pipeline->strengthen(settings.durability);
  }
  some_want_disk_ |= settings.durability == Durability::disk;
  if (!keeps_ledger(settings) || ledger) return;
  const Result<FileIdentity> marked = shared.storage.identify(target, true);
  ledger = std::make_unique<Ledger>(
      shared.storage, shared.next_owner, shared.journal_directory,
      journal::identity_of(journal::Kind::ledger, target, marked ? marked : Result(identity)));
}

bool OpenFile::secured() const {
  return std::ranges::all_of(lanes, [](const auto& lane) {
    return lane->pipeline->secured(ends_on_disk(lane->pipeline->settings()));
  });
}

bool OpenFile::answers_from_ledger() const {
  return ledger && !some_want_disk_ && !ledger->failing() && !ledger->given_up() &&
         lanes.front()->pipeline->settings().durability == Durability::node;
}

void OpenFile::owe(const Reply& reply) {
  if (ledger->stable() < ledger->mark()) ledger->sync();
  owed_.push_back({reply, ledger->mark()});
}

// Where the ledger fails, a close is what it is with durability disk.
bool OpenFile::due(const Owed& owed) const {
  if (ledger->given_up()) return secured() || !error().ok();
  return !ledger->failing() && ledger->stable() >= owed.mark;
}

// Readers wait for this while nobody has the file open (client/ledgers.hpp).
void OpenFile::show_progress(std::uint64_t now_ns) {
  std::uint64_t bytes = 0;
  for (const auto& lane : lanes)
    bytes += lane->pipeline->counters().bytes_out + lane->pipeline->settled_puts();
  if (bytes == shown_bytes_ || now_ns - shown_ns_ < show_every_ns) return;
  shown_bytes_ = bytes;
  shown_ns_ = now_ns;
  ledger->show_progress();
}

// This node's own records are safe, and none has been taken since: what agents upstream pass on meanwhile is
// not the ledger's, and may never be settled while ranks here wait for room.
bool OpenFile::rescued() const {
  return rescuing_ && error().ok() &&
         std::ranges::none_of(lanes, [](const auto& lane) { return lane->requests.settles_all(); });
}

bool OpenFile::advance_ledger(std::uint64_t now_ns, std::vector<Reply>& replies) {
  if (!ledger) return false;
  bool moved = false;
  if (ledger->failing()) {
    if (!std::exchange(rescuing_, true)) {
      for (const auto& lane : lanes) lane->requests.settle_all();
    }
    if (!error().ok()) ledger->give_up();
  }
  ledger->flush();  // what the target has and the ledger has not would be taken back by a recovery
  if (secured() || rescued()) moved = !ledger->empty() && ledger->clear();
  // Also where only the ledger's own writes are awaited: an open of the file waits for them.
  if (!ledger->empty()) {
    ledger->set_draining(
        std::ranges::none_of(lanes, [](const auto& lane) { return lane->requests.used_by_ranks(); }));
    show_progress(now_ns);
  }
  for (std::size_t i = 0; i < owed_.size();) {
    if (!due(owed_[i])) {
      ++i;
      continue;
    }
    Reply reply = owed_[i].reply;
    if (!error().ok()) reply.status = error();
    replies.push_back(reply);
    owed_.erase(owed_.begin() + static_cast<std::ptrdiff_t>(i));
    moved = true;
  }
  return moved;
}

std::string OpenFile::ledger_message() const {
  if (!ledger || ledger->empty() || !ledger->promised()) return {};
  return path + " has not got all that was written: " + error().describe() + "; it is in " + ledger->path() +
         ": see to the file's disk, then run millrace recover";
}

}  // namespace millrace::agent
