// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.hpp"
#include "front/mpiio/mpi.hpp"

// Parts that all kinds of opens share.
namespace millrace::front {

// The name for the kernel, without ROMIO's prefix. Empty if the kernel does not know the file.
std::optional<std::string> kernel_path(std::string_view name);

// The settings of this file. Its millrace_* hints replace settings of the process.
Settings settings_of(MPI_Info info, const char* filename);

// True if calls of a kind ("independent", ...) stay with the library.
bool stays_direct(const Settings& settings, std::string_view kind);

// Tells the client how the program uses threads. Call it before the first use of the session.
void ask_for_threads();

// A rank must be able to reach its agent later, to ask for pending bytes of other ranks. If it cannot, all
// ranks leave the file to the MPI library.
bool reaches_agent(const std::string& path);

// The words about the participants in every open's agreement. The reduction is MPI_MAX.
struct Company {
  std::uint64_t group;    // a random number of rank 0
  std::uint64_t refused;  // some rank does not want acceleration, or could not open
  std::uint64_t node;     // equal on all ranks if node == ~other
  std::uint64_t other;

  bool on_one_node() const { return node == ~other; }
};
// This rank's words.
Company own_company(int rank, bool wanted);

// The maximum over all ranks of the communicator, word by word. T consists of 64-bit words that are below
// 2^63, or are only compared for equality.
bool reduce_words(MPI_Comm comm, const std::uint64_t* mine, std::uint64_t* all, int words);

// The same maximum for words that this rank has already received.
void take_most(std::uint64_t* all, const std::uint64_t* one, int words);

template <class T>
bool all_at_most(MPI_Comm comm, const T& mine, T& all) {
  static_assert(sizeof(T) % sizeof(std::uint64_t) == 0, "reduced as words");
  return reduce_words(comm, reinterpret_cast<const std::uint64_t*>(&mine),
                      reinterpret_cast<std::uint64_t*>(&all), sizeof(T) / sizeof(std::uint64_t));
}

// Ends a collective call that `started` says to be under way. The rank sleeps while it waits: the ranks that
// are late, and the agents, get the processors. False: an MPI error.
bool wait_asleep(int started, MPI_Request& request);

// Gathers the blocks of all ranks, in their order, and rank 0's message to all. The blocks are sent as bytes,
// because all ranks run the same build. They come to all ranks by rank 0: if each rank called every other
// one, as Open MPI's allgather does, an open would connect all pairs of ranks.
bool gather_bytes(MPI_Comm comm, std::span<const std::byte> mine, std::span<std::byte> all,
                  std::span<std::byte> word);

template <class Block, class Word>
bool gather(MPI_Comm comm, const Block& mine, std::vector<Block>& all, Word& word) {
  return gather_bytes(comm, std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)),
                      std::as_writable_bytes(std::span(&word, 1)));
}

template <class Block>
bool gather(MPI_Comm comm, const Block& mine, std::vector<Block>& all) {
  return gather_bytes(comm, std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)), {});
}

}  // namespace millrace::front
