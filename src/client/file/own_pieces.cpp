// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/file/own_pieces.hpp"

#include <fcntl.h>

#include "client/way/read_pieces.hpp"

namespace millrace::client {

bool OwnPieces::write(PieceSource& source, const SieveBounds& sweep, Status& status) {
  const int opened = writable_ && !process_.is_child() ? file() : -1;
  if (opened >= 0) status = sieve_.write(opened, source, sweep);
  return opened >= 0;
}

Status OwnPieces::read(PieceSource& source) {
  const int opened = file();
  return opened >= 0 ? read_pieces(opened, source) : Code::unsupported;
}

int OwnPieces::open() {
  const std::lock_guard lock(mutex_);
  if (number_.load() == not_known) {
    file_ = target_.open_to_hold(writable_ ? O_RDWR : O_RDONLY);
    number_.store(file_.valid() ? file_.get() : -1, std::memory_order_release);
  }
  return number_.load();
}

void OwnPieces::close() {
  sieve_.let_sieve();
  number_.store(-1);
  file_ = {};
}

}  // namespace millrace::client
