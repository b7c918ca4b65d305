// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/core/ledger.hpp"

#include <algorithm>
#include <utility>

#include "io/posix/descriptor.hpp"
#include "io/posix/owned.hpp"
#include "journal/folder.hpp"
#include "sink/sink.hpp"

namespace millrace::agent {

namespace {

std::uint64_t token_of(std::uint32_t owner, std::uint32_t act) { return std::uint64_t{owner} << 32 | act; }

}  // namespace

Ledger::Ledger(Shared& shared, journal::Identity target, const Fd& file)
    : shared_(shared), target_(std::move(target)), own_number_(shared.next_owner++) {
  if (Result<Fd> own = io::duplicate(file)) watched_ = shared_.storage.adopt(*std::move(own), false);
}

// The target has failed, and its ranks have an error.
Ledger::~Ledger() {
  if (watched_) shared_.storage.release(*watched_);
  log_.reset();
  if (!promised_) remove();
}

void Ledger::ask(io::Op op, Act act, std::function<Status()> what) {
  io::Request request;
  request.op = op;
  if (op == io::Op::look) request.file = *watched_;
  request.token = token_of(own_number_, static_cast<std::uint32_t>(act));
  request.act = std::move(what);
  if (act != Act::look) ++calls_.pending;
  shared_.storage.submit(std::move(request));
}

void Ledger::create() {
  target_.created_ns = io::wall_ns();
  log_ = std::make_unique<journal::Log>(shared_.storage, shared_.next_owner, target_);
  log_->set_agent(shared_.agent);
  said_ = {};
  made_ = std::make_shared<io::Owned>();
  ask(io::Op::call, Act::create,
      [made = made_, directory = shared_.journal_directory, target = target_]() -> Status {
        if (target.path.empty() || target.path.size() > journal::path_max) return Code::unsupported;
        Result<io::Owned> owned = io::create_owned(directory, journal::suffix_of(target.target.inode));
        if (!owned) return owned.status();
        *made = *std::move(owned);
        return {};
      });
  if (!watched_ || look_ != Look::none) return;
  look_ = Look::first;
  ask(io::Op::look, Act::look);
}

// Before the name is on the disk, no record in the file is safe.
void Ledger::secure_name() {
  if (!promised_ || !file_.file.valid()) return;
  ask(io::Op::call, Act::secure_name, [path = file_.path] { return io::sync_name(path); });
}

// The lock stays until the name has gone: others recover a log that nobody locks.
void Ledger::remove() {
  if (log_ != nullptr) log_->set_state(journal::LogState::done);
  if (file_.file.valid())
    shared_.retirements.add({std::move(file_.file), file_.path, target_.path, target_.target, own_number_});
}

void Ledger::fail(Status status) {
  const bool unusable = status.code() == Code::access || status.code() == Code::unsupported;
  const std::string why = status.code() == Code::no_space ? "too little room"
                          : unusable ? io::describe_unusable(shared_.journal_directory, status)
                                     : status.describe();
  problem_ = "no ledger in " + shared_.journal_directory + ": " + why;
}

void Ledger::append(std::uint64_t offset, std::span<const std::byte> data, std::uint64_t stamp) {
  if (state_ == State::given_up || data.empty()) return;
  if (log_ == nullptr) create();
  log_->append(offset, data, stamp);
  appended_ = log_->records();
}

void Ledger::flush() {
  if (log_ != nullptr && log_->written() < log_->records()) log_->flush();
}

void Ledger::sync() {
  if (log_ == nullptr) return;
  if (!std::exchange(promised_, true)) secure_name();
  log_->sync();
}

void Ledger::forget(const Cut& cut) {
  if (log_ == nullptr || cut.mark <= base_) return;  // the file has gone since
  log_->forget(cut.place);
  log_->sync();
}

bool Ledger::has_forgotten(const Cut& cut) const {
  if (removal().code() == Code::timeout) return false;
  if (cut.mark <= base_ || log_ == nullptr || (state_ == State::given_up && !promised_)) return true;
  return log_->forgotten() >= cut.place.records && written() >= cut.mark;
}

bool Ledger::clear() {
  if (!quiet()) return false;
  if (log_ != nullptr) base_ += log_->records();
  log_.reset();
  remove();
  appended_ = 0;
  promised_ = named_ = false;
  if (state_ == State::failing) state_ = State::given_up;
  return true;
}

void Ledger::give_up() {
  state_ = State::given_up;
  // If no record became stable, no rank was told that its records are safe. Recovery must not use them.
  if (stable() > base_) return;
  promised_ = false;
  remove();
}

void Ledger::say(bool draining, bool helps) {
  if (log_ == nullptr) return;
  log_->set_agent(helps ? shared_.agent : 0);
  if (log_->set_state(draining ? journal::LogState::draining : journal::LogState::open)) keep_sign();
}

void Ledger::show_life(bool progress) {
  if (log_ == nullptr) return;
  log_->show_life(progress);
  keep_sign();
}

// The log's mtime is the last sign of life for a recovery. It goes back if somebody sets the node's clock
// back; the target may have a later time from before.
void Ledger::keep_sign() {
  const std::uint64_t now_ns = shared_.storage.wall_ns();
  last_sign_ns_ = std::max(last_sign_ns_, now_ns);
  log_->set_alive(now_ns < last_sign_ns_ ? last_sign_ns_ : 0);
}

void Ledger::note_writers(journal::Writers may_write) {
  if (log_ == nullptr) return;
  if (may_write == journal::Writers::nobody) {
    if (said_.writers == may_write || look_ != Look::none || !watched_) return;
    look_ = Look::asked;
    return ask(io::Op::look, Act::look);
  }
  if (look_ == Look::asked) look_ = Look::outdated;  // something may have written since the look began
  if (std::exchange(said_.writers, may_write) == may_write) return;
  log_->note(said_.writers, said_.left);
  keep_sign();
}

bool Ledger::lets_write() const {
  if (log_ == nullptr || state_ != State::works) return true;
  return said_.writers != journal::Writers::nobody && log_->says(said_.writers);
}

void Ledger::complete(const io::Completion& completion) {
  if (shared_.retirements.owns(completion)) {
    const Status refused = shared_.retirements.refused(own_number_);
    if (refused.ok()) return;
    if (problem_.empty()) fail(refused);
    if (state_ == State::works) state_ = log_ != nullptr ? State::failing : State::given_up;
    return;
  }
  if (sink::owner_of(completion.token) == own_number_)
    return complete(static_cast<Act>(static_cast<std::uint32_t>(completion.token)), completion);
  if (log_ == nullptr || !log_->owns(sink::owner_of(completion.token))) return;
  log_->complete(completion);
  keep_sign();
  if (log_->status().ok() || state_ != State::works) return;
  fail(log_->status());
  state_ = State::failing;
}

void Ledger::complete(Act act, const io::Completion& completion) {
  if (act != Act::look) --calls_.pending, ++calls_.ended;
  switch (act) {
    case Act::create: {
      file_ = std::move(*std::exchange(made_, nullptr));
      if (state_ == State::given_up) return remove();
      Status made = completion.status;
      if (made.ok()) {
        Result<Fd> own = io::duplicate(file_.file);
        made = own ? log_->open(*std::move(own)) : own.status();
      }
      if (made.ok()) return secure_name();
      fail(made);
      return give_up();
    }
    case Act::secure_name:
      named_ = completion.status.ok();
      if (named_ || state_ == State::given_up) return;
      fail(completion.status);
      state_ = State::failing;
      return;
    case Act::look:
      // The descriptor stays open until all is over: its close(2) could hear, and drop, an error of the
      // target's bytes.
      if (!completion.status.ok()) {
        look_ = Look::refused;
        return;
      }
      if (look_ == Look::first) last_sign_ns_ = std::max(last_sign_ns_, completion.state.ctime_ns);
      if (look_ == Look::first && log_ != nullptr) keep_sign();
      if (std::exchange(look_, Look::none) != Look::asked || log_ == nullptr) return;
      said_.writers = journal::Writers::nobody;
      said_.left = completion.state;
      log_->note(said_.writers, said_.left);
      return;
  }
}

}  // namespace millrace::agent
