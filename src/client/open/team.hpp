// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace::client {

// The ranks that open a file together. What they tell each other goes to rank 0 and from there to all, so no
// rank but rank 0 ever has a message of every other one. If each rank called every other one, as Open MPI's
// allgather does, an open would connect all pairs of ranks. Messages are sent as bytes, because all ranks run
// the same build. Implementations: MPI
// (front/mpiio/ranks/exchange.hpp), virtual ranks (sim/virtual_team.hpp), threads in tests.
class Team {
 public:
  Team() = default;
  virtual ~Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Collective, as all functions here; false: an error. Rank 0 gets the blocks of all ranks, in their order.
  // `all` is empty on the other ranks.
  virtual bool gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  // All ranks get rank 0's bytes.
  virtual bool tell(std::span<std::byte> bytes) = 0;
  // The least of all ranks' numbers, which are not negative; 0 after an error.
  virtual int least(int mine);
};

template <class Block>
bool gather(Team& team, const Block& mine, std::vector<Block>& all) {
  all.assign(team.rank() == 0 ? static_cast<std::size_t>(team.size()) : 0, mine);
  return team.gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
}

template <class Word>
bool tell(Team& team, Word& word) {
  return team.tell(std::as_writable_bytes(std::span(&word, 1)));
}

inline int Team::least(int mine) {
  std::vector<int> all;
  if (!client::gather(*this, mine, all)) return 0;
  int least = rank() == 0 ? *std::ranges::min_element(all) : 0;
  return client::tell(*this, least) ? least : 0;
}

// The number of elements is rank 0's, too.
template <class Element>
bool tell_list(Team& team, std::vector<Element>& list) {
  std::uint64_t count = list.size();
  if (!tell(team, count)) return false;
  list.resize(count);
  return team.tell(std::as_writable_bytes(std::span(list)));
}

}  // namespace millrace::client
