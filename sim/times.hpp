// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::sim {

// In ns, as the virtual clock counts.
inline constexpr std::uint64_t us = 1'000;
inline constexpr std::uint64_t ms = 1'000 * us;
inline constexpr std::uint64_t second = 1'000 * ms;

}  // namespace millrace::sim
