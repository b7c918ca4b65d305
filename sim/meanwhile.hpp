// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace millrace::sim {

// The changes of the file and of the clock between the end of the programs and the recovery of the logs that
// they have left.
struct Meanwhile {
  enum class Name : std::uint8_t { kept, changed, in_another_folder };
  // The file is removed, and another file of this many bytes gets its name and inode number; 0: no.
  std::uint64_t anew_bytes = 0;
  bool rewritten = false;  // instead, a stranger writes these bytes into the file
  Name name = Name::kept;
  std::uint64_t clock_back_ns = 0;  // the clock is set back by this time

  std::string describe() const;
};

}  // namespace millrace::sim
