// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "front/mpiio/mpi.hpp"

// Collective exchanges of small messages.
namespace millrace::front {

// The maximum over all ranks of the communicator, word by word. T consists of 64-bit words that are below
// 2^63, or are only compared for equality. False: an MPI error.
template <class T>
bool all_at_most(MPI_Comm comm, const T& mine, T& all) {
  static_assert(sizeof(T) % sizeof(std::uint64_t) == 0, "reduced as words");
  return PMPI_Allreduce(&mine, &all, sizeof(T) / sizeof(std::uint64_t), MPI_UINT64_T, MPI_MAX, comm) ==
         MPI_SUCCESS;
}

// The same maximum for words that this rank has already received.
template <class T>
void merge_max(T& all, const T& one) {
  static_assert(sizeof(T) % sizeof(std::uint64_t) == 0, "merged as words");
  auto* words = reinterpret_cast<std::uint64_t*>(&all);
  const auto* more = reinterpret_cast<const std::uint64_t*>(&one);
  for (std::size_t i = 0; i < sizeof(T) / sizeof(std::uint64_t); ++i) words[i] = std::max(words[i], more[i]);
}

// A long wait calls this function once, after this time in which the process ran.
struct Late {
  std::uint64_t after_ms = UINT64_MAX;
  std::function<void()> act;
};

// Ends a collective call that `started` says to be under way. The rank sleeps while it waits: the ranks that
// are late, and the agents, get the processors. False: an MPI error.
bool wait_asleep(int started, MPI_Request& request, const Late& late = {});

// Gathers the blocks of all ranks, in their order, and rank 0's message to all. The blocks are sent as bytes,
// because all ranks run the same build. They come to all ranks by rank 0: if each rank called every other
// one, as Open MPI's allgather does, an open would connect all pairs of ranks.
bool gather_bytes(MPI_Comm comm, std::span<const std::byte> mine, std::span<std::byte> all,
                  std::span<std::byte> word, const Late& late = {});

template <class Block, class Word>
bool gather(MPI_Comm comm, const Block& mine, std::vector<Block>& all, Word& word) {
  return gather_bytes(comm, std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)),
                      std::as_writable_bytes(std::span(&word, 1)));
}

template <class Block>
bool gather(MPI_Comm comm, const Block& mine, std::vector<Block>& all) {
  return gather_bytes(comm, std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)), {});
}

// The least of all ranks' values, which are not negative; 0 after an MPI error. Collective.
int least_of(MPI_Comm comm, int mine);
// True if `mine` is true on every rank of the communicator. Collective.
inline bool all_of(MPI_Comm comm, bool mine) { return least_of(comm, mine ? 1 : 0) == 1; }

}  // namespace millrace::front
