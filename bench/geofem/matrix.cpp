// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "geofem/matrix.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "geofem/team.hpp"

namespace bench::geofem {
namespace {

Triple neighbour_of(const Triple& node, long which) {
  return {node[0] + which % 3 - 1, node[1] + which / 3 % 3 - 1, node[2] + which / 9 - 1};
}

enum class Part { lower, upper, outside, diagonal, none };

// Where a block of a row is stored, and its column.
struct Entry {
  Part part = Part::none;
  int column = 0;
};

class Assembler {
 public:
  Assembler(const Domain& domain, const Problem& problem, const Layout& layout)
      : domain_(domain), problem_(problem), layout_(layout) {
    a_.rows = static_cast<int>(domain.size());
    for (int row = 0; row < a_.rows; row++) {
      const auto old = static_cast<std::size_t>(layout.old_of_new[static_cast<std::size_t>(row)]);
      colour_.push_back(0);
      node_.push_back(domain.node(static_cast<long>(old)));
    }
    for (int t = 0; t < layout.threads; t++) {
      for (int c = 0; c < layout.colours; c++) {
        std::fill(colour_.begin() + layout.begin(t, c), colour_.begin() + layout.end(t, c), c);
      }
    }
  }

  Matrix assemble() {
    count();
    const auto blocks = static_cast<std::size_t>(a_.rows);
    a_.diagonal = untouched<double>(9 * blocks + 4);
    a_.inverse = untouched<double>(9 * blocks + 4);
    std::fill_n(a_.diagonal.get() + 9 * blocks, 4, 0.0);
    std::fill_n(a_.inverse.get() + 9 * blocks, 4, 0.0);
    on_threads(layout_.threads, [this](int thread) {
      for (int row = layout_.begin(thread); row < layout_.end(thread); row++) fill(row);
    });
    return std::move(a_);
  }

 private:
  Entry entry(int row, long which) const {
    const Triple other = neighbour_of(node_[static_cast<std::size_t>(row)], which);
    if (!domain_.exists(other)) return {};
    if (!domain_.owns(other)) return {Part::outside, a_.rows + domain_.external_number(other)};
    const int column = layout_.new_of_old[static_cast<std::size_t>(domain_.box_number(other))];
    if (column == row) return {Part::diagonal, row};
    const int own = colour_[static_cast<std::size_t>(row)], its = colour_[static_cast<std::size_t>(column)];
    return {its < own || (its == own && column < row) ? Part::lower : Part::upper, column};
  }

  BlockRows* rows_of(Part part) {
    if (part == Part::lower) return &a_.lower;
    if (part == Part::upper) return &a_.upper;
    return part == Part::outside ? &a_.outside : nullptr;
  }

  void count() {
    const auto rows = static_cast<std::size_t>(a_.rows);
    for (const Part part : {Part::lower, Part::upper, Part::outside}) {
      rows_of(part)->first = untouched<std::uint32_t>(rows + 1);
    }
    on_threads(layout_.threads, [this](int thread) {
      for (int row = layout_.begin(thread); row < layout_.end(thread); row++) {
        std::array<std::uint32_t, 5> counts{};
        for (long which = 0; which < 27; which++) counts[static_cast<std::size_t>(entry(row, which).part)]++;
        for (const Part part : {Part::lower, Part::upper, Part::outside}) {
          rows_of(part)->first[static_cast<std::size_t>(row)] = counts[static_cast<std::size_t>(part)];
        }
      }
    });
    for (const Part part : {Part::lower, Part::upper, Part::outside}) allocate(*rows_of(part), rows);
  }

  static void allocate(BlockRows& part, std::size_t rows) {
    for (std::size_t row = 0; row < rows; row++) {
      const std::uint32_t count = part.first[row];
      part.first[row] = static_cast<std::uint32_t>(part.blocks);
      part.blocks += count;
    }
    if (part.blocks > UINT32_MAX) throw std::runtime_error("too many nodes for one rank: start more ranks");
    part.first[rows] = static_cast<std::uint32_t>(part.blocks);
    part.column = untouched<int>(part.blocks);
    part.value = untouched<double>(9 * part.blocks + 4);
    std::fill_n(part.value.get() + 9 * part.blocks, 4, 0.0);
  }

  void fill(int row) {
    const auto r = static_cast<std::size_t>(row);
    const std::array<Block, 27> blocks = problem_.stiffness(node_[r]);
    // By column, so that a row reads its vectors forwards.
    std::array<std::pair<Entry, std::size_t>, 27> entries{};
    for (std::size_t which = 0; which < 27; which++)
      entries[which] = {entry(row, static_cast<long>(which)), which};
    std::ranges::sort(entries, {}, [](const auto& p) { return p.first.column; });
    std::array<std::uint32_t, 3> next{a_.lower.first[r], a_.upper.first[r], a_.outside.first[r]};
    for (const auto& [to, which] : entries) {
      if (to.part == Part::none) continue;
      if (to.part == Part::diagonal) {
        std::ranges::copy(blocks[which], a_.diagonal.get() + 9 * r);
        invert(a_.diagonal.get() + 9 * r, a_.inverse.get() + 9 * r);
        continue;
      }
      const std::uint32_t k = next[static_cast<std::size_t>(to.part)]++;
      BlockRows& part = *rows_of(to.part);
      part.column[k] = to.column;
      std::ranges::copy(blocks[which], part.value.get() + 9 * static_cast<std::size_t>(k));
    }
  }

  // Of a 3 x 3 block, by cofactors: it is symmetric and positive definite.
  static void invert(const double* m, double* out) {
    const auto at = [m](int i, int j) { return m[i % 3 + 3 * (j % 3)]; };
    double determinant = 0;
    for (int i = 0; i < 3; i++) {
      for (int j = 0; j < 3; j++) {
        out[j + 3 * i] = at(i + 1, j + 1) * at(i + 2, j + 2) - at(i + 1, j + 2) * at(i + 2, j + 1);
      }
    }
    for (int i = 0; i < 3; i++) determinant += at(i, 0) * out[3 * i];
    for (int k = 0; k < 9; k++) out[k] /= determinant;
  }

  const Domain& domain_;
  const Problem& problem_;
  const Layout& layout_;
  std::vector<int> colour_;  // of each row
  std::vector<Triple> node_;
  Matrix a_;
};

std::uint64_t bytes_of(const BlockRows& part, std::uint64_t rows) {
  return part.blocks * (9 * sizeof(double) + sizeof(int)) + (rows + 1) * sizeof(std::uint32_t);
}

}  // namespace

std::uint64_t Matrix::bytes() const {
  const auto n = static_cast<std::uint64_t>(rows);
  return bytes_of(lower, n) + bytes_of(upper, n) + bytes_of(outside, n) + 2 * 9 * n * sizeof(double);
}

Graph own_graph(const Domain& domain) {
  Graph graph;
  graph.first.push_back(0);
  for (long number = 0; number < domain.size(); number++) {
    const Triple node = domain.node(number);
    for (long which = 0; which < 27; which++) {
      const Triple other = neighbour_of(node, which);
      if (which != 13 && domain.exists(other) && domain.owns(other)) {
        graph.neighbours.push_back(domain.box_number(other));
      }
    }
    graph.first.push_back(static_cast<std::uint32_t>(graph.neighbours.size()));
  }
  return graph;
}

Matrix assemble(const Domain& domain, const Problem& problem, const Layout& layout) {
  return Assembler(domain, problem, layout).assemble();
}

}  // namespace bench::geofem
