// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace bench {

// Multiply-and-add of one instruction set: `chains` registers of `lanes` doubles, each x = x / 2 + 1, `turns`
// times.
struct Loop {
  const char* name;
  unsigned lanes, chains;
  // The largest distance of a lane from 2, to which all of them go.
  double (*run)(std::uint64_t turns);

  double operations(std::uint64_t turns) const { return 2.0 * lanes * chains * static_cast<double>(turns); }
};

// Those that this processor has, from the narrowest.
std::vector<Loop> loops();

}  // namespace bench
