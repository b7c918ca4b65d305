// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/file/enrolment.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "client/file/ledgers.hpp"
#include "journal/folder.hpp"

namespace millrace::client {

using transport::Kind;

Session* Enrolment::enroll(bool may_start) {
  const std::lock_guard lock(mutex_);
  if (Session* const known = this->session(); known != nullptr) return known;
  if (barred.load() != Reason::none) return nullptr;
  Reason why = Reason::none;
  Session* session = process_.session(may_start, why);
  std::uint64_t seen = 0;
  if (session != nullptr && !session->lost() && !session->view().knows(target_.number(), seen) &&
      !settle_dead_ledgers().ok())
    return nullptr;
  if (session != nullptr) why = enroll_with(*session);
  if (why != Reason::none) barred.store(why);
  return this->session();
}

// Returns none, or the reason why the agent does not have the file.
Reason Enrolment::enroll_with(Session& session) {
  struct statx status = {};
  // The descriptor stays open until close(): its close would drop the process's fcntl locks on the file.
  // The agent opens a file that the agents only read, if it has to read it at all.
  const bool held = target_.holds_open() ||
                    (carries_reads() && request_.only_reads() && target_.held().valid()) ||
                    target_.hold_open(O_RDWR) || target_.hold_open(request_.writable ? O_WRONLY : O_RDONLY);
  // The kernel remembers the type, so a server is asked for the size alone.
  const int flags = AT_EMPTY_PATH | (request_.file_bytes != 0 ? AT_STATX_DONT_SYNC : 0);
  if (!held || ::statx(target_.held().get(), "", flags, STATX_TYPE | STATX_SIZE, &status) != 0)
    return Reason::cannot_open_again;
  if (!S_ISREG(status.stx_mode)) return Reason::cannot_open_again;
  transport::Register registration{};
  registration.group = request_.group;
  registration.members = request_.members;
  registration.reads_only = request_.writable ? 0 : 1;
  registration.settings = request_.settings;
  registration.routing = request_.routing;
  const bool logs = keeps_ledger(request_.settings) && request_.writable;
  if (const auto own = logs ? process_.mark(target_.held()) : FileIdentity()) registration.identity = *own;
  const std::size_t length = std::min(request_.path.size(), sizeof registration.path - 1);
  std::memcpy(registration.path, request_.path.data(), length);
  Result<std::uint32_t> slot = session.enroll(registration, target_.held().get());
  if (!slot) {
    process_.say(request_.path + ": the agent refused the file: " + slot.status().describe());
    bereft_.store(session.lost() && session.view().holds(target_.number()));
    return Reason::agent_gone;
  }
  slot_ = *slot;
  if (request_.settings.strategy == Strategy::journal) {
    Protected own{slot_,
                  journal::identity_of(journal::LogKind::rescue, target_.held(),
                                       process_.identify(target_.held()), request_.group),
                  request_.routing.lanes > 0 ? journal::Writers::nodes : journal::Writers::owner};
    session.with_protected([&own](ProtectedFiles& files, std::uint32_t clock) {
      own.identity.clock = clock;
      files.add(std::move(own));
    });
  }
  file_bytes.store(status.stx_size);
  before_ = session.view().work();
  session_.store(&session, std::memory_order_release);
  return Reason::none;
}

bool Enrolment::known_to_agent() {
  if (process_.is_child() || barred.load(std::memory_order_relaxed) != Reason::none) return false;
  Session* session = process_.joined();
  if (session == nullptr) return false;
  const std::lock_guard lock(known_mutex_);
  return session->view().knows(target_.number(), openings_seen_);
}

bool Enrolment::is_awaited() {
  if (session() != nullptr || request_.members <= 1) return false;
  if (!request_.late) return known_to_agent();
  Session* const joined = request_.writable ? process_.joined() : nullptr;
  return joined != nullptr && joined->view().pending_in(target_.number(), everything);
}

Session* Enrolment::session_of_group() {
  if (process_.is_child()) return nullptr;
  if (is_awaited()) (void)enroll(false);
  return session();
}

std::uint64_t Enrolment::pending_end() {
  if (process_.is_child() || request_.routing.lanes > 0 || keeps_ledger(request_.settings)) return UINT64_MAX;
  if (session() == nullptr && known_to_agent()) (void)enroll(false);  // bytes of other ranks
  Session* const own = session();
  const bool known = own != nullptr && !own->gone() && !request_.only_reads();
  return known ? own->view().end_of(target_.number()) : UINT64_MAX;
}

// After sync, collective functions and close, other ranks may overwrite this rank's bytes through the next
// agent. These ranks may have recovered the journals before, so the bytes that this rank has saved go to the
// file first.
Status Enrolment::request(Kind kind, Extent extent) {
  const Status status = session()->request(kind, slot_, extent, tally);
  if (status.code() == Code::lost_agent && process_.has_successor()) (void)settle_dead_ledgers();
  return status;
}

Status Enrolment::see_death() {
  const bool saves = request_.settings.strategy == Strategy::journal && session()->gone();
  return saves ? request(Kind::arrive, everything) : Status();
}

Status Enrolment::ask(Kind kind, Extent extent) {
  const Status status = request(kind, extent);
  if (request_.routing.lanes > 0) process_.look_again(target_.path());
  return status;
}

Status Enrolment::settle_dead_ledgers() {
  const bool may = keeps_ledger(request_.settings) && request_.routing.lanes == 0 && !process_.is_child();
  return may && !settle_ledgers_of_others(request_.path.c_str(), true, process_) ? Status(Code::timeout)
                                                                                 : Status();
}

// The kernel reports an error in writeback to every descriptor that was open then, and to only one that was
// opened later. So the descriptor that close syncs has to be older than the writes.
void Enrolment::hold_for_sync() {
  if (held_for_sync_.load(std::memory_order_acquire)) return;
  if (!ends_on_disk(request_.settings) || !request_.writable || process_.is_child()) return;
  const std::lock_guard lock(mutex_);
  if (!target_.holds_open() && !target_.hold_open(O_RDWR)) (void)target_.hold_open(O_WRONLY);
  held_for_sync_.store(true, std::memory_order_release);
}

}  // namespace millrace::client
