// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
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
  std::uint64_t refused;  // not 0: some rank does not want acceleration, or could not open; or blocked_open
  std::uint64_t node;     // equal on all ranks if node == ~other
  std::uint64_t other;

  bool on_one_node() const { return node == ~other; }
};
// The value of Company::refused if the open has to fail on all ranks, because an agent of another job has
// bytes of the file and cannot be ended.
inline constexpr std::uint64_t blocked_open = 2;
// Whether the open may go on: first this rank's word, then that of all ranks.
struct Admission {
  bool here = true;
  bool everywhere = true;

  void hear(const Company& all) { everywhere = all.refused < blocked_open; }
};
// This rank's words.
Company own_company(int rank, bool wanted, const Admission& admission = {});
// Raises an error at MPI_File_open, where there is no handle, and returns it.
int refuse_open(int value);

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

// What a long wait does, once, after this time in which the process ran.
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

}  // namespace millrace::front
