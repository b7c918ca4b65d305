// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "settling.hpp"

#include "client/file/ledgers.hpp"

namespace millrace::sim {

// A fiber must end before its destruction.
Settling::~Settling() {
  if (!over_) seat_.vanish();
}

void Settling::begin() {
  seat_.begin(
      [this] {
        (void)client::settle_ledgers(path_.c_str(), true, *this);
        over_ = true;
      },
      0);
}

void Settling::kill_recovery() {
  if (recovering_ != nullptr) recovering_->kill();
}

}  // namespace millrace::sim
