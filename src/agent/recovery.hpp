// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>

#include "base/settings.hpp"
#include "io/clock.hpp"
#include "io/storage.hpp"

namespace millrace::agent {

// How a recovery waits. Implementations: recovery.cpp (the system's), sim/recovering.hpp (virtual time).
class Pace : public io::Clock {
 public:
  virtual void pause(std::uint32_t for_ms) = 0;
  // Until the storage has completed something. May return early.
  virtual void wait_for(io::Storage& storage) = 0;
};

// The program millrace-recover: `arguments` without its name. Brings what the ledgers of dead agents hold,
// and what ranks have saved, to the targets, and takes the journals away; those of living agents are left
// alone, or waited for. Every journal is checked as a whole before a byte of it is used. May run any number
// of times, also at the same time, and be killed: a journal goes only when all of it is on the target's disk.
// Returns the exit status: 0 all that was found is in its target, 1 something is not, 2 wrong use.
int recover(std::span<const std::string> arguments, const Settings& settings, io::Storage& storage,
            std::ostream& out, std::ostream& error);
int recover(std::span<const std::string> arguments, const Settings& settings, io::Storage& storage,
            std::ostream& out, std::ostream& error, Pace& pace);

}  // namespace millrace::agent
