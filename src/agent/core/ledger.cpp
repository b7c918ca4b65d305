// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/core/ledger.hpp"

#include <utility>

#include "io/posix/descriptor.hpp"
#include "io/posix/owned.hpp"
#include "journal/folder.hpp"
#include "sink/sink.hpp"

namespace millrace::agent {

Ledger::Ledger(io::Storage& storage, std::uint32_t& next_owner, std::string directory,
               journal::Identity target, const Fd& file)
    : storage_(storage),
      next_owner_(next_owner),
      directory_(std::move(directory)),
      target_(std::move(target)),
      looker_(next_owner++) {
  if (Result<Fd> own = io::duplicate(file)) watched_ = storage_.adopt(*std::move(own), false);
}

Ledger::~Ledger() {
  if (watched_) storage_.release(*watched_);
  log_.reset();
  if (file_.valid() && !promised_) (void)io::remove_owned(path_);
}

Status Ledger::create() {
  if (target_.path.empty() || target_.path.size() > journal::path_max) return Code::unsupported;
  Result<io::Owned> made = io::create_owned(directory_, journal::suffix_of(target_.target.inode));
  if (!made) return made.status();
  file_ = std::move(made->file);
  path_ = std::move(made->path);
  Result<Fd> own = io::duplicate(file_);
  if (!own) return own.status();
  target_.created_ns = made->created_ns;
  auto log = journal::Log::create(storage_, *std::move(own), next_owner_, target_);
  if (!log) return log.status();
  log_ = *std::move(log);
  writers_ = journal::Writers::owner;
  left_ = {};
  return {};
}

void Ledger::fail(Status status) {
  const std::string why = status.code() == Code::no_space ? "too little room"
                          : status.code() == Code::access ? io::describe_foreign(directory_)
                                                          : status.describe();
  problem_ = "no ledger in " + directory_ + ": " + why;
}

void Ledger::append(std::uint64_t offset, std::span<const std::byte> data, std::uint64_t stamp) {
  if (given_up_ || data.empty()) return;
  if (log_ == nullptr) {
    if (Status made = create(); !made.ok()) {
      fail(made);
      give_up();
      return;
    }
  }
  log_->append(offset, data, stamp);
  appended_ = log_->records();
}

void Ledger::flush() {
  if (log_ != nullptr && log_->written() < log_->records()) log_->flush();
}

void Ledger::sync() {
  if (log_ == nullptr) return;
  if (const Status named = promised_ ? Status() : io::sync_name(path_); !named.ok()) {
    fail(named);
    failing_ = true;
  }
  promised_ = true;
  log_->sync();
}

bool Ledger::clear() {
  if (!quiet()) return false;
  if (log_ != nullptr) base_ += log_->records();
  log_.reset();
  appended_ = 0;
  // If the name came back after a crash, recovery would overwrite newer bytes.
  if (file_.valid()) (void)(promised_ ? io::remove_durably(path_) : io::remove_owned(path_));
  file_.reset();
  promised_ = false;
  given_up_ |= std::exchange(failing_, false);
  return true;
}

void Ledger::give_up() {
  failing_ = false;
  given_up_ = true;
  // If no record became stable, no rank was told that its records are safe. Recovery must not use them.
  if ((log_ != nullptr && log_->stable() > 0) || !file_.valid()) return;
  (void)io::remove_owned(path_);
  file_.reset();
  promised_ = false;
}

void Ledger::set_draining(bool draining) {
  if (log_ != nullptr) log_->set_state(draining ? journal::State::draining : journal::State::open);
}

void Ledger::show_life(bool progress) {
  if (log_ != nullptr) log_->show_life(progress);
}

void Ledger::note_writers(journal::Writers may_write) {
  if (log_ == nullptr) return;
  if (may_write == journal::Writers::nobody) {
    if (writers_ == may_write || looking_ || !watched_) return;
    looking_ = true;
    touched_ = false;
    io::Request look;
    look.op = io::Op::look;
    look.file = *watched_;
    look.token = std::uint64_t{looker_} << 32;
    storage_.submit(std::move(look));
    return;
  }
  touched_ = true;
  if (std::exchange(writers_, may_write) != may_write) log_->note(writers_, left_);
}

void Ledger::complete(const io::Completion& completion) {
  if (looking_ && sink::owner_of(completion.token) == looker_) {
    looking_ = false;
    if (!completion.status.ok()) storage_.release(*std::exchange(watched_, completion.status));
    if (!completion.status.ok() || touched_ || log_ == nullptr) return;
    writers_ = journal::Writers::nobody;
    left_ = completion.state;
    log_->note(writers_, left_);
    return;
  }
  if (log_ == nullptr || !log_->owns(sink::owner_of(completion.token))) return;
  log_->complete(completion);
  if (log_->status().ok() || failing_ || given_up_) return;
  fail(log_->status());
  failing_ = true;
}

}  // namespace millrace::agent
