// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "geofem/problem.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace bench::geofem {
namespace {

constexpr double young = 1, poisson = 0.3;
constexpr double lambda = young * poisson / ((1 + poisson) * (1 - 2 * poisson));
constexpr double shear = young / (2 * (1 + poisson));
constexpr double pull = 1;                    // traction on the upper face
constexpr Vector amplitude{1.0, 0.5, -0.25};  // of the product of sines

// Points of Gauss's rule of order 2 on [0, 1]; both weigh 1/2.
const std::array<double, 2> gauss{(1 - 1 / std::numbers::sqrt3) / 2, (1 + 1 / std::numbers::sqrt3) / 2};

bool bit(std::size_t corner, std::size_t d) { return ((corner >> d) & 1) != 0; }

// Of the corner's shape function on the unit cube.
double value(std::size_t corner, const Vector& at) {
  double v = 1;
  for (std::size_t d = 0; d < 3; d++) v *= bit(corner, d) ? at[d] : 1 - at[d];
  return v;
}
Vector gradient(std::size_t corner, const Vector& at) {
  Vector g{};
  for (std::size_t d = 0; d < 3; d++) {
    g[d] = bit(corner, d) ? 1 : -1;
    for (std::size_t e = 0; e < 3; e++) {
      if (e != d) g[d] *= bit(corner, e) ? at[e] : 1 - at[e];
    }
  }
  return g;
}
Vector gauss_point(std::size_t p) { return {gauss[p & 1], gauss[(p >> 1) & 1], gauss[p >> 2]}; }

// lambda Na,i Nb,j + mu Na,j Nb,i + mu delta_ij Na,k Nb,k at one point.
void add_stiffness(Block& block, const Vector& a, const Vector& b, double weight) {
  const double dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  for (std::size_t i = 0; i < 3; i++) {
    for (std::size_t j = 0; j < 3; j++) {
      block[i + 3 * j] += weight * (lambda * a[i] * b[j] + shear * a[j] * b[i] + (i == j ? shear * dot : 0));
    }
  }
}

// The element whose corner `corner` is the node: its first node.
Triple element_of(const Triple& node, std::size_t corner) {
  Triple first = node;
  for (std::size_t d = 0; d < 3; d++) first[d] -= bit(corner, d) ? 1 : 0;
  return first;
}

}  // namespace

Problem::Problem(const std::string& kind, const Triple& nodes)
    : traction_(kind == "traction"),
      nodes_(nodes),
      edge_(1.0 / static_cast<double>(*std::max_element(nodes.begin(), nodes.end()) - 1)) {
  for (std::size_t d = 0; d < 3; d++) {
    wave_[d] = std::numbers::pi / (edge_ * static_cast<double>(nodes[d] - 1));
  }
  for (std::size_t a = 0; a < 8; a++) {
    for (std::size_t b = 0; b < 8; b++) {
      for (std::size_t p = 0; p < 8; p++) {
        const Vector at = gauss_point(p);
        add_stiffness(element_[a][b], gradient(a, at), gradient(b, at), edge_ / 8);
      }
    }
  }
}

bool Problem::element_exists(const Triple& first_node) const {
  bool in = true;
  for (std::size_t d = 0; d < 3; d++) in = in && first_node[d] >= 0 && first_node[d] < nodes_[d] - 1;
  return in;
}

bool Problem::fixed(const Triple& node, std::size_t component) const {
  if (traction_) return node[component] == 0;
  bool on_face = false;
  for (std::size_t d = 0; d < 3; d++) on_face = on_face || node[d] == 0 || node[d] == nodes_[d] - 1;
  return on_face;
}

std::array<Block, 27> Problem::stiffness(const Triple& node) const {
  std::array<Block, 27> row{};
  for (std::size_t a = 0; a < 8; a++) {
    if (!element_exists(element_of(node, a))) continue;
    for (std::size_t b = 0; b < 8; b++) {
      std::size_t to = 0;
      for (std::size_t d = 3; d-- > 0;) to = to * 3 + 1 + bit(b, d) - bit(a, d);
      for (std::size_t k = 0; k < 9; k++) row[to][k] += element_[a][b][k];
    }
  }
  for (std::size_t to = 0; to < 27; to++) {
    const auto n = static_cast<long>(to);
    const Triple other{node[0] + n % 3 - 1, node[1] + n / 3 % 3 - 1, node[2] + n / 9 - 1};
    for (std::size_t i = 0; i < 3; i++) {
      for (std::size_t j = 0; j < 3; j++) {
        if (fixed(node, i) || fixed(other, j)) row[to][i + 3 * j] = to == 13 && i == j ? 1 : 0;
      }
    }
  }
  return row;
}

Vector Problem::traction_load(const Triple& node) const {
  if (node[2] != nodes_[2] - 1) return {};
  double quarters = 4;  // of a face of an element
  for (std::size_t d = 0; d < 2; d++) {
    if (node[d] == 0 || node[d] == nodes_[d] - 1) quarters /= 2;
  }
  return {0, 0, pull * quarters * edge_ * edge_ / 4};
}

Vector Problem::sines(const Vector& place) const {
  return {std::sin(wave_[0] * place[0]), std::sin(wave_[1] * place[1]), std::sin(wave_[2] * place[2])};
}

// -(lambda + mu) grad div u - mu laplace u of the product of sines.
Vector Problem::body_force(const Vector& place) const {
  const Vector s = sines(place);
  const Vector c{std::cos(wave_[0] * place[0]), std::cos(wave_[1] * place[1]), std::cos(wave_[2] * place[2])};
  const double square = wave_[0] * wave_[0] + wave_[1] * wave_[1] + wave_[2] * wave_[2];
  const double all = s[0] * s[1] * s[2];
  Vector force{};
  for (std::size_t i = 0; i < 3; i++) {
    double grad_div = -amplitude[i] * wave_[i] * wave_[i] * all;
    for (std::size_t j = 0; j < 3; j++) {
      if (j != i) grad_div += amplitude[j] * wave_[i] * wave_[j] * c[i] * c[j] * s[3 - i - j];
    }
    force[i] = -(lambda + shear) * grad_div + shear * square * amplitude[i] * all;
  }
  return force;
}

Vector Problem::body_load(const Triple& node) const {
  Vector sum{};
  for (std::size_t corner = 0; corner < 8; corner++) {
    const Triple first = element_of(node, corner);
    if (!element_exists(first)) continue;
    for (std::size_t p = 0; p < 8; p++) {
      const Vector at = gauss_point(p);
      Vector place{};
      for (std::size_t d = 0; d < 3; d++) place[d] = edge_ * (static_cast<double>(first[d]) + at[d]);
      const Vector force = body_force(place);
      const double weight = value(corner, at) * edge_ * edge_ * edge_ / 8;
      for (std::size_t i = 0; i < 3; i++) sum[i] += weight * force[i];
    }
  }
  return sum;
}

Vector Problem::load(const Triple& node) const {
  Vector all = traction_ ? traction_load(node) : body_load(node);
  for (std::size_t i = 0; i < 3; i++) {
    if (fixed(node, i)) all[i] = 0;
  }
  return all;
}

Vector Problem::exact(const Triple& node) const {
  Vector place{};
  for (std::size_t d = 0; d < 3; d++) place[d] = edge_ * static_cast<double>(node[d]);
  if (traction_) {
    return {-poisson * pull / young * place[0], -poisson * pull / young * place[1], pull / young * place[2]};
  }
  const Vector s = sines(place);
  const double all = s[0] * s[1] * s[2];
  return {amplitude[0] * all, amplitude[1] * all, amplitude[2] * all};
}

}  // namespace bench::geofem
