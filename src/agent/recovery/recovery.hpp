// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "io/clock.hpp"
#include "io/storage.hpp"

namespace millrace::agent {

// How a recovery waits: as the system does, or in virtual time (sim/recovering.hpp).
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

// What millrace-recover does: opens the logs that dead agents and ranks have left, drains each of them into
// its target and takes it away. Logs of living agents are left alone, or waited for. Every log is checked as
// a whole before a byte of it is used. May run any number of times, also at the same time, and be killed: a
// log goes only when all of it is on the target's disk. Returns the exit status: 0 all that was found is in
// its target, 1 something is not.
int recover(const RecoveryOptions& options, io::Storage& storage, std::ostream& out, std::ostream& error,
            Pace& pace);

}  // namespace millrace::agent
