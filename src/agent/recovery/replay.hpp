// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "agent/recovery/recovery.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "io/storage.hpp"

namespace millrace::agent {

// One log of a replay.
struct Replayed {
  const Fd& file;
  std::uint64_t end;         // of its good records
  std::uint64_t generation;  // logs of a lower one come first, whatever their stamps say
};

// Writes the records of all logs of one file to it, merged by their stamps: in the order in which they were
// written, whichever process saved them. Calls `lives` a few times per second, with true if the replay has
// got on since. Returns when the bytes are on the file's disk.
Status replay(std::span<const Replayed> logs, Fd target, io::Storage& storage, Pace& pace,
              const std::function<void(bool)>& lives);

}  // namespace millrace::agent
