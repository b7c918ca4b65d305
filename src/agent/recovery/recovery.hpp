// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "io/clock.hpp"
#include "io/storage.hpp"

namespace millrace::agent {

// The waits of a recovery: in real time here, in virtual time in sim/recovering.hpp.
class Pace : public io::Clock {
 public:
  std::uint64_t now_ns() const override;
  virtual void pause(std::uint32_t for_ms);
  // Waits until the storage has completed a request. May return early.
  virtual void wait_for(io::Storage& storage);
};

struct RecoveryOptions {
  std::string directory = {};
  bool dry_run = false;  // only prints the logs
  bool force = false;    // also uses damaged logs, up to the damage, logs passed over, and doubtful targets
  bool drain = false;    // first waits for living agents
  std::uint64_t timeout_ms = 60'000;  // the longest wait for living agents without progress
};

// The work of millrace-recover. It opens the logs that dead agents and ranks have left, writes the records of
// each log to its target, and removes the log. It leaves logs of living agents alone, or waits for them. It
// checks a whole log before it uses a byte of it. Recovery may run any number of times, also at the same
// time, and be killed: it removes a log only when all records are on the target's disk. Returns the exit
// status: 1 if it refused a log or a log's target failed, else 0.
int recover(const RecoveryOptions& options, io::Storage& storage, std::ostream& out, std::ostream& error,
            Pace& pace);

}  // namespace millrace::agent
