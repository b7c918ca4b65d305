// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/hook/narrow.hpp"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdint>
#include <string_view>
#include <utility>

#include "front/hook/attach.hpp"

extern "C" void* millrace_slots[];

namespace millrace::front {
namespace {

constexpr unsigned none = ~0U;
constexpr int err_count = 2;  // MPI_ERR_COUNT of MPICH and of Open MPI

// Every argument is a pointer, a handle or an integer, and takes one word in a register or on the stack. A
// function ignores words behind its last argument.
using Word = std::intptr_t;
using Function = int (*)(Word, Word, Word, Word, Word, Word, Word, Word);

constexpr unsigned small_slot(unsigned slot) {
  const std::string_view large = slot_names[slot];
  if (!large.ends_with("_c")) return none;
  for (unsigned i = 0; i < slot_count; ++i) {
    if (large.substr(0, large.size() - 2) == slot_names[i]) return i;
  }
  return none;
}

template <unsigned entry>
int narrow(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h) {
  constexpr unsigned slot = entry / 2;
  const std::array words{a, b, c, d, e, f, g, h};
  for (unsigned i = 0; i < words.size(); ++i) {
    if ((slot_counts[slot] >> i & 1u) == 0 || words[i] <= INT_MAX) continue;
    constexpr std::string_view text =
        "millrace: a count above 2^31-1 is not possible: the MPI library of this process has no large-count "
        "functions. The call did nothing\n";
    [[maybe_unused]] const ssize_t told = write(STDERR_FILENO, text.data(), text.size());
    return err_count;
  }
  void* target = __atomic_load_n(&millrace_slots[2 * small_slot(slot) + entry % 2], __ATOMIC_ACQUIRE);
  return reinterpret_cast<Function>(target)(a, b, c, d, e, f, g, h);
}

template <unsigned entry>
void* function_of() {
  if constexpr (small_slot(entry / 2) == none) {
    return nullptr;
  } else {
    return reinterpret_cast<void*>(&narrow<entry>);
  }
}

template <unsigned... entries>
void* pick(unsigned wanted, std::integer_sequence<unsigned, entries...>) {
  using Getter = void* (*)();
  static constexpr Getter getters[] = {&function_of<entries>...};
  return getters[wanted]();
}

}  // namespace

void* narrow_function(unsigned entry) {
  return pick(entry, std::make_integer_sequence<unsigned, 2 * slot_count>());
}

}  // namespace millrace::front
