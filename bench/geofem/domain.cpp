// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "geofem/domain.hpp"

#include <algorithm>
#include <limits>

namespace bench::geofem {
namespace {

// Calls `look` with every way to write `parts` as a product of three.
template <class Look>
void each_product(long parts, Look look) {
  for (long x = 1; x <= parts; x++) {
    if (parts % x != 0) continue;
    for (long y = 1; y <= parts / x; y++) {
      if (parts / x % y == 0) look(Triple{x, y, parts / x / y});
    }
  }
}

// The begin of part `which` of `all` things dealt to `parts`. The first parts have one more.
long part_begin(long all, long parts, long which) {
  return all / parts * which + std::min(which, all % parts);
}

// Direction {-1, 0, 1}^3 as a number in [0, 27).
int direction_number(const Triple& d) { return static_cast<int>(d[0] + 1 + 3 * (d[1] + 1 + 3 * (d[2] + 1))); }

Triple direction(int number) { return {number % 3 - 1, number / 3 % 3 - 1, number / 9 - 1}; }

}  // namespace

Triple near_cube(long parts) {
  Triple best{parts, 1, 1};
  each_product(parts, [&](const Triple& t) {
    if (t[0] >= t[1] && t[1] >= t[2] && t[0] + t[1] + t[2] < best[0] + best[1] + best[2]) best = t;
  });
  return best;
}

Triple best_grid(const Triple& nodes, long parts) {
  Triple best{0, 0, 0};
  double smallest = std::numeric_limits<double>::max();
  each_product(parts, [&](const Triple& t) {
    double faces = 0;
    for (std::size_t d = 0; d < 3; d++) {
      if (t[d] > nodes[d]) return;
      faces +=
          static_cast<double>(t[d] - 1) * static_cast<double>(volume(nodes)) / static_cast<double>(nodes[d]);
    }
    // Of equals, the one that cuts the slowest direction: its faces lie together in memory.
    if (faces > smallest || (faces == smallest && t[2] < best[2])) return;
    smallest = faces;
    best = t;
  });
  return best;
}

Domain::Domain(const Triple& nodes, const Triple& grid, int rank) : nodes_(nodes) {
  const Triple at{rank % grid[0], rank / grid[0] % grid[1], rank / grid[0] / grid[1]};
  for (std::size_t d = 0; d < 3; d++) {
    begin_[d] = part_begin(nodes[d], grid[d], at[d]);
    end_[d] = part_begin(nodes[d], grid[d], at[d] + 1);
    extent_[d] = end_[d] - begin_[d];
  }
  find_neighbours(grid, at);
}

void Domain::find_neighbours(const Triple& grid, const Triple& at) {
  for (int number = 0; number < 27; number++) {
    const Triple way = direction(number);
    if (number == 13) continue;
    Triple other{}, low = begin_, high = end_;
    bool there = true;
    for (std::size_t d = 0; d < 3; d++) {
      other[d] = at[d] + way[d];
      there = there && other[d] >= 0 && other[d] < grid[d];
      if (way[d] < 0) high[d] = begin_[d] + 1;
      if (way[d] > 0) low[d] = end_[d] - 1;
    }
    if (!there) continue;
    Neighbour next;
    next.rank = static_cast<int>(other[0] + grid[0] * (other[1] + grid[1] * other[2]));
    for (long z = low[2]; z < high[2]; z++) {
      for (long y = low[1]; y < high[1]; y++) {
        for (long x = low[0]; x < high[0]; x++) next.send.push_back(box_number({x, y, z}));
      }
    }
    // The region beyond that face, edge or corner has the same shape.
    next.count = static_cast<int>(next.send.size());
    next.first_external = static_cast<int>(externals_);
    first_external_[static_cast<std::size_t>(number)] = next.first_external;
    externals_ += next.count;
    neighbours_.push_back(std::move(next));
  }
}

bool Domain::exists(const Triple& node) const {
  bool in = true;
  for (std::size_t d = 0; d < 3; d++) in = in && node[d] >= 0 && node[d] < nodes_[d];
  return in;
}

bool Domain::owns(const Triple& node) const {
  bool in = true;
  for (std::size_t d = 0; d < 3; d++) in = in && node[d] >= begin_[d] && node[d] < end_[d];
  return in;
}

Triple Domain::node(long box_number) const {
  return {begin_[0] + box_number % extent_[0], begin_[1] + box_number / extent_[0] % extent_[1],
          begin_[2] + box_number / extent_[0] / extent_[1]};
}

int Domain::box_number(const Triple& own_node) const {
  return static_cast<int>(own_node[0] - begin_[0] +
                          extent_[0] * (own_node[1] - begin_[1] + extent_[1] * (own_node[2] - begin_[2])));
}

int Domain::external_number(const Triple& other_node) const {
  Triple way{}, within{}, shape{};
  for (std::size_t d = 0; d < 3; d++) {
    way[d] = other_node[d] < begin_[d] ? -1 : (other_node[d] >= end_[d] ? 1 : 0);
    within[d] = way[d] == 0 ? other_node[d] - begin_[d] : 0;
    shape[d] = way[d] == 0 ? extent_[d] : 1;
  }
  return first_external_[static_cast<std::size_t>(direction_number(way))] +
         static_cast<int>(within[0] + shape[0] * (within[1] + shape[1] * within[2]));
}

}  // namespace bench::geofem
