// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "io/clock.hpp"
#include "io/storage.hpp"

namespace millrace::agent {

// The waits of a recovery: in real time, or in virtual time (sim/recovering.hpp).
class Pace : public io::Clock {
 public:
  std::uint64_t now_ns() const override;
  virtual void pause(std::uint32_t for_ms);
  // Until the storage has completed something. May return early.
  virtual void wait_for(io::Storage& storage);
};

struct RecoveryOptions {
  std::string directory = {};
  bool dry_run = false;  // only says what there is
  bool force = false;    // also into another file, up to the first damage, and what was passed over
  bool drain = false;    // first waits for living agents
  std::uint64_t timeout_ms = 60'000;
};

// The work of millrace-recover. It opens the logs that dead agents and ranks have left, drains each log into
// its target and removes it. It leaves logs of living agents alone, or waits for them. It checks a whole log
// before it uses a byte of it. Recovery may run any number of times, also at the same time, and be killed: a
// log is removed only when all of it is on the target's disk. Returns the exit status: 0 if all logs are in
// their targets, else 1.
int recover(const RecoveryOptions& options, io::Storage& storage, std::ostream& out, std::ostream& error,
            Pace& pace);

}  // namespace millrace::agent
