// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "flops/loops.hpp"

#include <cmath>
#include <cstddef>

namespace bench {

namespace {

// Enough chains that two units with a latency of four or five cycles are never idle, few enough for the
// registers.
constexpr unsigned chains = 12;

// Vectors of GCC and Clang: the attribute `target` decides the instructions. Each chain is a variable of its
// own, since compilers leave an array in memory; the empty asm keeps its value in a register and the loop
// from being folded.
#define MILLRACE_EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define MILLRACE_BEGIN(k) Vector x##k = Vector{} + static_cast<double>(k);
#define MILLRACE_STEP(k)    \
  x##k = x##k * half + one; \
  asm volatile("" : MILLRACE_IN_REGISTER(x##k));
#define MILLRACE_END(k) x##k,
#define MILLRACE_LOOP(NAME, TARGET, BYTES)                     \
  TARGET double NAME(std::uint64_t turns) {                    \
    using Vector = double __attribute__((vector_size(BYTES))); \
    const Vector half = Vector{} + 0.5, one = Vector{} + 1.0;  \
    MILLRACE_EACH(MILLRACE_BEGIN)                              \
    for (std::uint64_t i = 0; i < turns; ++i) {                \
      MILLRACE_EACH(MILLRACE_STEP)                             \
    }                                                          \
    double worst = 0;                                          \
    const Vector found[] = {MILLRACE_EACH(MILLRACE_END)};      \
    for (const Vector& v : found) {                            \
      for (std::size_t i = 0; i < BYTES / sizeof(double); ++i) \
        worst = std::fmax(worst, std::fabs(v[i] - 2));         \
    }                                                          \
    return worst;                                              \
  }

#ifdef __x86_64__
#define MILLRACE_IN_REGISTER(value) "+x"(value)
MILLRACE_LOOP(sse2, , 16)
MILLRACE_LOOP(avx2_fma, __attribute__((target("avx2,fma"))), 32)
#undef MILLRACE_IN_REGISTER
#define MILLRACE_IN_REGISTER(value) "+v"(value)
MILLRACE_LOOP(avx512, __attribute__((target("avx512f"))), 64)
#elif defined(__aarch64__)
#define MILLRACE_IN_REGISTER(value) "+w"(value)
MILLRACE_LOOP(neon, , 16)
#else
#define MILLRACE_IN_REGISTER(value) "+m"(value)
MILLRACE_LOOP(plain, , 8)
#endif

}  // namespace

std::vector<Loop> loops() {
  std::vector<Loop> found;
#ifdef __x86_64__
  found.push_back({"sse2", 2, chains, sse2});
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    found.push_back({"avx2_fma", 4, chains, avx2_fma});
  if (__builtin_cpu_supports("avx512f")) found.push_back({"avx512", 8, chains, avx512});
#elif defined(__aarch64__)
  found.push_back({"neon", 2, chains, neon});
#else
  found.push_back({"plain", 1, chains, plain});
#endif
  return found;
}

}  // namespace bench
