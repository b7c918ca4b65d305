// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

#include "geofem/domain.hpp"

namespace bench::geofem {

using Vector = std::array<double, 3>;
using Block = std::array<double, 9>;  // 3 x 3, a column after the other

// Linear elasticity on a cuboid of 8-node cubes: the longest side is 1, Young's modulus 1, Poisson's ratio
// 0.3.
// - traction: the faces x = 0, y = 0 and z = 0 slide in themselves, the upper face is pulled. The solution is
//   linear, so the elements give it exactly.
// - manufactured: the faces are fixed, and forces within are such that the displacement is a product of
// sines.
//   The elements' error falls with the square of their size.
// Immutable after construction.
class Problem {
 public:
  Problem(const std::string& kind, const Triple& nodes);

  // The rows of the stiffness matrix of a node: 27 blocks, neighbour {-1, 0, 1}^3 with x fastest (13 is the
  // node itself). Fixed components are taken out: their rows and columns are those of the unit matrix.
  std::array<Block, 27> stiffness(const Triple& node) const;
  Vector load(const Triple& node) const;
  Vector exact(const Triple& node) const;
  double edge() const { return edge_; }  // of an element

 private:
  bool fixed(const Triple& node, std::size_t component) const;
  bool element_exists(const Triple& first_node) const;
  Vector traction_load(const Triple& node) const;
  Vector body_load(const Triple& node) const;
  Vector body_force(const Vector& place) const;
  Vector sines(const Vector& place) const;

  bool traction_;
  Triple nodes_;
  double edge_;
  Vector wave_{};                                  // pi / length of each side
  std::array<std::array<Block, 8>, 8> element_{};  // corner x + 2 y + 4 z
};

}  // namespace bench::geofem
