// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "transport/memory.hpp"

// Every write carries a stamp, so that records of different rings are taken in the order in which they were
// written. MPI requires that only after a sync. But POSIX guarantees it after a barrier, and programs rely on
// it (parallel HDF5 writes the same metadata from changing ranks, with barriers between).
namespace millrace::transport {

// The clock of a job's stamps; the agent decides for all ranks.
enum class StampClock : std::uint32_t {
  monotonic = 0,  // CLOCK_MONOTONIC, nanoseconds
  counter = 1,    // the processor's counter, where the kernel trusts it to be one over all cores
};

// Two writes with a barrier between them are further apart than this, in units of either clock. It is below
// 0.2 us, and no two processes can communicate through an MPI library in that time.
inline constexpr std::uint64_t stamp_quantum = 128;

// No honest stamp is this far in the future.
inline constexpr std::uint64_t stamp_horizon = std::uint64_t{1} << 36;

inline std::uint64_t read_stamp(StampClock clock) {
#if defined(__x86_64__)
  if (clock == StampClock::counter) {
    unsigned core = 0;
    return __builtin_ia32_rdtscp(&core);  // waits for what came before, unlike rdtsc
  }
#elif defined(__aarch64__)
  if (clock == StampClock::counter) {
    std::uint64_t count = 0;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(count)::"memory");
    return count;
  }
#endif
  return now_ns();
}

// The best clock of this machine.
StampClock choose_stamp_clock();

}  // namespace millrace::transport
