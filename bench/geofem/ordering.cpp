// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "geofem/ordering.hpp"

#include <algorithm>
#include <numeric>

namespace bench::geofem {
namespace {

template <class Visit>
void each_neighbour(const Graph& graph, int row, Visit visit) {
  const auto r = static_cast<std::size_t>(row);
  for (std::uint32_t k = graph.first[r]; k < graph.first[r + 1]; k++) visit(graph.neighbours[k]);
}

// Each colour takes rows that are free of it, in order, until it has its share of all.
Colours multicolour(const Graph& graph, int wanted) {
  const int rows = graph.size();
  const int share = (rows + wanted - 1) / wanted;
  Colours colours{std::vector<int>(static_cast<std::size_t>(rows), -1), 0};
  std::vector<int> barred(static_cast<std::size_t>(rows), -1);  // for which colour
  std::vector<int> left(static_cast<std::size_t>(rows)), next;
  std::iota(left.begin(), left.end(), 0);
  for (; !left.empty(); colours.count++, left.swap(next)) {
    next.clear();
    int taken = 0;
    for (const int row : left) {
      if (taken == share || barred[static_cast<std::size_t>(row)] == colours.count) {
        next.push_back(row);
        continue;
      }
      colours.of_row[static_cast<std::size_t>(row)] = colours.count;
      each_neighbour(graph, row, [&](int other) { barred[static_cast<std::size_t>(other)] = colours.count; });
      taken++;
    }
  }
  return colours;
}

int degree(const Graph& graph, int row) {
  const auto r = static_cast<std::size_t>(row);
  return static_cast<int>(graph.first[r + 1] - graph.first[r]);
}

// Level sets: neighbours of the level before, without those that are connected with one that is in already.
Colours cuthill_mckee(const Graph& graph) {
  const int rows = graph.size();
  Colours levels{std::vector<int>(static_cast<std::size_t>(rows), -1), 0};
  std::vector<int> barred(static_cast<std::size_t>(rows), -1);
  std::vector<int> level, next;
  const auto take = [&](int row) {
    levels.of_row[static_cast<std::size_t>(row)] = levels.count;
    each_neighbour(graph, row, [&](int other) { barred[static_cast<std::size_t>(other)] = levels.count; });
    next.push_back(row);
  };
  std::vector<int> starts(static_cast<std::size_t>(rows));
  std::iota(starts.begin(), starts.end(), 0);
  std::ranges::stable_sort(starts, {}, [&](int row) { return degree(graph, row); });
  for (const int start : starts) {  // more than one only where the graph is in pieces
    if (levels.of_row[static_cast<std::size_t>(start)] >= 0) continue;
    next.clear();
    take(start);
    while (!next.empty()) {
      level.swap(next);
      next.clear();
      levels.count++;
      for (const int row : level) {
        each_neighbour(graph, row, [&](int other) {
          const auto o = static_cast<std::size_t>(other);
          if (levels.of_row[o] < 0 && barred[o] != levels.count) take(other);
        });
      }
    }
  }
  for (int& of_row : levels.of_row) of_row = levels.count - 1 - of_row;
  return levels;
}

bool independent(const Graph& graph, const std::vector<int>& levels, int colours) {
  for (int row = 0; row < graph.size(); row++) {
    const int own = levels[static_cast<std::size_t>(row)] % colours;
    bool free = true;
    each_neighbour(graph, row, [&](int other) {
      free = free && levels[static_cast<std::size_t>(other)] % colours != own;
    });
    if (!free) return false;
  }
  return true;
}

}  // namespace

Colours colour(const Graph& graph, const std::string& ordering, int wanted) {
  if (ordering == "none") return {std::vector<int>(static_cast<std::size_t>(graph.size()), 0), 1};
  if (ordering == "mc") return multicolour(graph, wanted);
  Colours levels = cuthill_mckee(graph);
  if (ordering == "rcm") return levels;
  int colours = std::min(wanted, levels.count);
  while (!independent(graph, levels.of_row, colours)) colours++;
  for (int& of_row : levels.of_row) of_row %= colours;
  levels.count = colours;
  return levels;
}

Layout lay_out(const Colours& colours, int threads) {
  const std::size_t rows = colours.of_row.size();
  std::vector<std::vector<int>> members(static_cast<std::size_t>(colours.count));
  for (std::size_t row = 0; row < rows; row++) {
    members[static_cast<std::size_t>(colours.of_row[row])].push_back(static_cast<int>(row));
  }
  Layout layout{threads, colours.count, std::vector<int>(rows), {}, {}};
  layout.old_of_new.reserve(rows);
  for (int thread = 0; thread < threads; thread++) {
    for (const std::vector<int>& all : members) {
      layout.begins.push_back(static_cast<int>(layout.old_of_new.size()));
      const auto count = static_cast<long>(all.size());
      const long begin = count * thread / threads, end = count * (thread + 1) / threads;
      layout.old_of_new.insert(layout.old_of_new.end(), all.begin() + begin, all.begin() + end);
    }
  }
  layout.begins.push_back(static_cast<int>(rows));
  for (std::size_t place = 0; place < rows; place++) {
    layout.new_of_old[static_cast<std::size_t>(layout.old_of_new[place])] = static_cast<int>(place);
  }
  return layout;
}

}  // namespace bench::geofem
