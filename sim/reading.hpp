// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::sim {

struct Scenario;

// Seeds from here on are runs in which ranks of several nodes read a file through the agents (ADR 24). Ranks
// write the file first. They read it in order, at a stride, nested, at random and by views. Some write
// meanwhile by another handle, or change the file before they open it for reading once more.
inline constexpr std::uint64_t first_reading_seed = 1'000'000;
// From here on, they read and write by one handle, and read through the agents until the file is written.
inline constexpr std::uint64_t first_until_written_seed = 2'000'000;
Scenario make_reading(std::uint64_t seed);

}  // namespace millrace::sim
