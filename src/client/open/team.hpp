// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

namespace millrace::client {

// The ranks that open a file together. What all of them bring together goes up a tree to rank 0 and down
// again (fold), so a rank has a message of a few others only, and memory for the result. Messages are sent as
// bytes, because all ranks run the same build. Implementations: MPI (front/mpiio/ranks/exchange.hpp), virtual
// ranks (sim/virtual_team.hpp), threads in tests.
class Team {
 public:
  Team() = default;
  virtual ~Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // For fold(). Sends another rank a message; false: an error.
  virtual bool send(int to, std::span<const std::byte> message) = 0;
  // Waits for the next message of a rank. `room` makes room for so many bytes; false: an error.
  using Room = std::function<std::span<std::byte>(std::size_t)>;
  virtual bool receive(int from, const Room& room) = 0;

  // True if messages need no preparation. The same on all ranks.
  virtual bool connected() const { return true; }

  // Every rank gets the maximum of all ranks' words, word by word. Collective; false: an error.
  virtual bool most(std::span<std::uint64_t> words);
  // The least of all ranks' numbers, which are not negative; 0 after an error. Collective.
  int least(int mine);
};

// The default of fold(): the list of all ranks has all elements of all ranks.
inline constexpr auto keep_all = [](auto& /*list*/, std::size_t /*middle*/) {};

// Every rank gets the list of all ranks, which has their elements in the order of the ranks. Collective;
// false: an error. Ranks form a tree, in which a rank and those below it follow each other:
//
//   0 - 1, 2, 3
//     - 4 - 5, 6, 7
//     - 8 - 9, 10, 11
//     - 12 - 13, 14, 15
//     - 16 - 17, 18, 19
//          - 20 - 21, 22, 23  ...
//
// join(list, middle) may make one element of several: those from `middle` on are of later ranks.
template <class Element, class Join = decltype(keep_all)>
bool fold(Team& team, std::vector<Element>& list, Join join = keep_all) {
  static_assert(std::is_trivially_copyable_v<Element>, "sent as bytes");
  const int rank = team.rank(), size = team.size();
  const Team::Room room = [&list](std::size_t bytes) {
    const std::size_t middle = list.size();
    list.resize(middle + bytes / sizeof(Element));
    return std::as_writable_bytes(std::span(list).subspan(middle));
  };
  int step = 1;
  for (; step < size && rank % (4 * step) == 0; step *= 4) {
    for (int below = rank + step; below < std::min(size, rank + 4 * step); below += step) {
      const std::size_t middle = list.size();
      if (!team.receive(below, room)) return false;
      join(list, middle);
    }
  }
  if (rank != 0) {
    const int above = rank - rank % (4 * step);
    if (!team.send(above, std::as_bytes(std::span(list)))) return false;
    list.clear();
    if (!team.receive(above, room)) return false;
  }
  while ((step /= 4) > 0) {
    for (int below = rank + 3 * step; below > rank; below -= step)
      if (below < size && !team.send(below, std::as_bytes(std::span(list)))) return false;
  }
  return true;
}

inline void merge_max(std::span<std::uint64_t> all, const std::uint64_t* more) {
  for (std::uint64_t& word : all) word = std::max(word, *more++);
}

inline bool Team::most(std::span<std::uint64_t> words) {
  std::vector<std::uint64_t> all(words.begin(), words.end());
  const auto join = [](std::vector<std::uint64_t>& list, std::size_t middle) {
    merge_max(std::span(list).first(middle), &list[middle]);
    list.resize(middle);
  };
  if (!fold(*this, all, join)) return false;
  std::ranges::copy(all, words.begin());
  return true;
}

inline int Team::least(int mine) {
  std::uint64_t word = ~static_cast<std::uint64_t>(mine);
  return most({&word, 1}) ? static_cast<int>(~word) : 0;
}

// The words of a structure.
template <class Words>
std::span<std::uint64_t> words_of(Words& all) {
  static_assert(std::is_trivially_copyable_v<Words> && sizeof(Words) % sizeof(std::uint64_t) == 0);
  return {reinterpret_cast<std::uint64_t*>(&all), sizeof(Words) / sizeof(std::uint64_t)};
}
template <class Words>
bool most(Team& team, Words& all) {
  return team.most(words_of(all));
}

// A number of which all ranks hear whether it is the same on all of them (Team::most).
struct Same {
  Same() = default;
  explicit Same(std::uint64_t number) : most(number), rest(~number) {}
  bool everywhere() const { return most == ~rest; }

  std::uint64_t most = 0;
  std::uint64_t rest = 0;  // the maximum of its complement
};

}  // namespace millrace::client
