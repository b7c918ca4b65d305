// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "transport/memory.hpp"

// Every write carries a stamp, so that the agent takes records of different rings in the order in which they
// were written. MPI requires this order only after a sync. But POSIX guarantees it after a barrier, and
// programs rely on it. Parallel HDF5 writes the same metadata from changing ranks, with barriers between.
namespace millrace::transport {

// The clock of a job's stamps. The agent chooses it for all ranks.
enum class StampClock : std::uint32_t {
  monotonic = 0,  // CLOCK_MONOTONIC, nanoseconds
  counter = 1,    // the processor's counter, if the kernel trusts it to be the same on all cores
};

// The stamps of two writes with a barrier between them differ by more than this, with either clock. This is
// less than 0.2 us, and two processes cannot communicate through an MPI library in that time.
inline constexpr std::uint64_t stamp_quantum = 128;

inline std::uint64_t read_stamp(StampClock clock) {
#if defined(__x86_64__)
  if (clock == StampClock::counter) {
    unsigned core = 0;
    return __builtin_ia32_rdtscp(&core);  // waits for earlier instructions, unlike rdtsc
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
