// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "scenario.hpp"

namespace millrace::sim {

// Seeds from here on make runs on a file system like a network's: close(2) tells that accepted bytes were
// lost, and no request is answered for minutes.
inline constexpr std::uint64_t first_storing_seed = 5'000'000;
Scenario make_storing(std::uint64_t seed);

}  // namespace millrace::sim
