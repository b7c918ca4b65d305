// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace millrace::sim {

// What happens to the file, and to the clock, after the programs and before the logs that they have left come
// to the file.
struct Meanwhile {
  enum class Name : std::uint8_t { kept, changed, in_another_folder };
  // The file is removed, and another file of this many bytes gets its name and inode number; 0: no.
  std::uint64_t anew_bytes = 0;
  bool rewritten = false;  // instead, a stranger writes these bytes into the file
  Name name = Name::kept;
  std::uint64_t clock_back_ns = 0;  // the clock is set back by this time

  std::string describe() const;
};

struct Scenario;
void add_meanwhile(Scenario& scenario);

}  // namespace millrace::sim
