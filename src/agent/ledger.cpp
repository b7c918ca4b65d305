// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/ledger.hpp"

#include <utility>

#include "io/posix/descriptor.hpp"
#include "io/posix/owned.hpp"

namespace millrace::agent {

Ledger::~Ledger() {
  writer_.reset();
  if (file_.valid() && !promised_) (void)io::remove_owned(path_);
}

Status Ledger::create() {
  if (target_.path.empty() || target_.path.size() > journal::path_max) return Code::unsupported;
  Result<io::Owned> made = io::create_owned(directory_, journal::suffix);
  if (!made) return made.status();
  file_ = std::move(made->file);
  path_ = std::move(made->path);
  Result<Fd> own = io::duplicate(file_);
  if (!own) return own.status();
  target_.created_ns = made->created_ns;
  const std::uint32_t owner = next_owner_++;
  auto writer = journal::JournalWriter::create(storage_, *std::move(own), owner, target_);
  if (!writer) return writer.status();
  writer_ = *std::move(writer);
  owner_ = owner;
  return {};
}

void Ledger::fail(Status status) {
  const std::string why = status.code() == Code::no_space ? "too little room" : status.describe();
  problem_ = "no ledger in " + directory_ + ": " + why;
}

void Ledger::append(std::uint64_t offset, std::span<const std::byte> data) {
  if (given_up_ || data.empty()) return;
  if (writer_ == nullptr) {
    if (Status made = create(); !made.ok()) {
      fail(made);
      give_up();
      return;
    }
  }
  writer_->append(offset, data);
  appended_ = writer_->records();
}

void Ledger::flush() {
  if (writer_ != nullptr && writer_->written() < writer_->records()) writer_->flush();
}

void Ledger::sync() {
  if (writer_ == nullptr) return;
  if (!promised_) (void)io::sync_name(path_);  // once; where a file system refuses it, it keeps names itself
  promised_ = true;
  writer_->sync();
}

bool Ledger::clear() {
  if (!quiet()) return false;
  if (writer_ != nullptr) base_ += writer_->records();
  writer_.reset();
  appended_ = first_shown_ns_ = 0;
  // It must not come back over what is written later.
  if (file_.valid()) (void)(promised_ ? io::remove_durably(path_) : io::remove_owned(path_));
  file_.reset();
  promised_ = sealed_ = false;
  given_up_ |= std::exchange(failing_, false);
  return true;
}

void Ledger::give_up() {
  failing_ = false;
  given_up_ = true;
  // Where nothing became stable nobody was told that it is safe, and it must not come back.
  if (writer_ == nullptr || writer_->stable() > 0 || !file_.valid()) return;
  (void)io::remove_owned(path_);
  file_.reset();
  promised_ = false;
}

void Ledger::seal(bool sealed) {
  if (!file_.valid() || std::exchange(sealed_, sealed) == sealed) return;
  io::set_sealed(file_, sealed);
}

void Ledger::show_progress(std::uint64_t now_ns) {
  if (first_shown_ns_ == 0) first_shown_ns_ = now_ns;
  if (file_.valid()) io::touch(file_, target_.created_ns + (now_ns - first_shown_ns_));
}

void Ledger::complete(const io::Completion& completion) {
  writer_->complete(completion);
  if (writer_->status().ok() || failing_ || given_up_) return;
  fail(writer_->status());
  failing_ = true;
}

}  // namespace millrace::agent
