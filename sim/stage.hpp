// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace millrace::sim {

// A file that is copied to every node's own storage, from one node to the next (stage=whole), beside the
// programs' own file.
struct Stage {
  enum class Harm : std::uint8_t { none, rewritten, cut_short, grown, unreadable };
  std::uint64_t bytes = 0;
  // Harm to the file itself happens after a read up to this position, and after this delay.
  Harm harm = Harm::none;
  std::uint64_t harm_at = 0;
  std::uint64_t harm_after_ns = 0;

  std::string describe() const;
};

}  // namespace millrace::sim
