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
  // Between two steps, other processes may run.
  virtual void between_steps() {}
  // The number of the kernel's boot.
  virtual std::uint64_t boot() const;
};

struct RecoveryOptions {
  std::string directory = {};
  bool dry_run = false;  // only prints the logs
  bool force =
      false;  // also uses damaged logs, up to the damage, logs passed over, and doubtful or newer files
  bool drain = false;       // first waits for living agents
  std::string target = {};  // only journals of this file, whatever its name was; empty: all journals
  std::uint64_t timeout_ms = 60'000;  // the longest wait for living agents without progress
};

// The work of millrace-recover. For each file, it takes the logs that dead agents and ranks have left, writes
// their records to the file in the order of writing, and removes the logs. It leaves logs of living agents
// alone, or waits for them. It checks all logs of a file, and the file, before it writes a byte. Recoveries
// may be killed, and any number may start: one at a time works in a folder, and the others wait. Returns the
// exit status: 1 if it refused a log or a log's target failed, or if another folder of the user has logs.
int recover(const RecoveryOptions& options, io::Storage& storage, std::ostream& out, std::ostream& error,
            Pace& pace);

}  // namespace millrace::agent
