// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

namespace bench::geofem {

// Along x, y, z. Nodes of the whole cuboid have coordinates from {0, 0, 0} to nodes - 1.
using Triple = std::array<long, 3>;

inline long volume(const Triple& t) { return t[0] * t[1] * t[2]; }

// `parts` as a product of three, as near to a cube as may be, the largest first.
Triple near_cube(long parts);

// The division of a cuboid of `nodes` into `parts` boxes with the smallest faces between them; {0, 0, 0} if a
// box would be empty.
Triple best_grid(const Triple& nodes, long parts);

// A rank that has nodes next to ours.
struct Neighbour {
  int rank = 0;
  std::vector<int> send;   // our nodes (box numbers) that it needs, in the order of the whole cuboid
  int first_external = 0;  // needed from it: external nodes [first_external, first_external + count)
  int count = 0;
};

// The nodes of one rank: the box [begin, end), and a layer of external nodes around it, which others own.
// Nodes of the box are numbered x fastest; external ones neighbour by neighbour, each in the same order.
class Domain {
 public:
  Domain(const Triple& nodes, const Triple& grid, int rank);

  const Triple& nodes() const { return nodes_; }
  const Triple& begin() const { return begin_; }
  long size() const { return volume(extent_); }
  long externals() const { return externals_; }
  const std::vector<Neighbour>& neighbours() const { return neighbours_; }

  bool exists(const Triple& node) const;  // within the cuboid
  bool owns(const Triple& node) const;
  Triple node(long box_number) const;
  int box_number(const Triple& own_node) const;
  // Of a node next to the box, from 0.
  int external_number(const Triple& other_node) const;
  long global_number(const Triple& node) const {
    return node[0] + nodes_[0] * (node[1] + nodes_[1] * node[2]);
  }

 private:
  void find_neighbours(const Triple& grid, const Triple& at);

  Triple nodes_, begin_{}, end_{}, extent_{};
  std::array<int, 27> first_external_{};  // by direction
  long externals_ = 0;
  std::vector<Neighbour> neighbours_;
};

}  // namespace bench::geofem
