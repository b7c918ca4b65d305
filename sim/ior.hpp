// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "scenario.hpp"

namespace millrace::sim {

// A run of bench/ior on a cluster, with every byte. All ranks write their blocks of one file, sync and close.
struct Ior {
  std::uint64_t transfer = 4 * KiB;
  std::uint64_t block = 16 * KiB;
  std::uint64_t segments = 256;
  bool syncs = true;    // before the close
  bool random = false;  // -z: each rank's transfers in random order
  Scenario machine;     // without programs

  Ior();
  // "name=value", a whole number or a topology. False: the name is unknown, or the value is invalid.
  bool set(std::string_view assignment);
  static std::string names();
};

Scenario make_ior(const Ior& ior);

}  // namespace millrace::sim
