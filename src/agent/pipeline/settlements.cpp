// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/pipeline/settlements.hpp"

#include <algorithm>

namespace millrace::agent {

sink::Ticket Settlements::begin(transport::Kind kind, Extent extent, bool on_disk) {
  const sink::Ticket ticket = outlet_.settle(kind, extent, on_disk);
  const bool closes = kind == transport::Kind::close;
  const bool stable = closes ? on_disk : !outlet_.carries() || kind == transport::Kind::sync;
  // Without a sync, a close of the target itself settles nothing: finished puts were in the file before.
  const bool covers =
      extent == everything && kind != transport::Kind::arrive && (stable || outlet_.carries());
  settling_.push_back({ticket, covers ? departures_.puts() : 0, stable, closes ? departures_.puts() : 0});
  return ticket;
}

Status Settlements::end(const sink::Done& done) {
  const auto found = std::ranges::find(settling_, done.ticket, &Settling::ticket);
  if (found == settling_.end()) {
    read_.push_back(done);
    return {};
  }
  told_puts_ = std::max(told_puts_, found->told);
  if (done.status.ok()) {
    settled_puts_ = std::max(settled_puts_, found->puts);
    if (found->stable) stable_puts_ = std::max(stable_puts_, found->puts);
  }
  settled_.push_back(done.ticket);
  settling_.erase(found);
  return done.status;
}

bool Settlements::take_read(sink::Ticket ticket, Status& status) {
  const auto found = std::ranges::find(read_, ticket, &sink::Done::ticket);
  if (found == read_.end()) return false;
  status = found->status;
  read_.erase(found);
  return true;
}

}  // namespace millrace::agent
