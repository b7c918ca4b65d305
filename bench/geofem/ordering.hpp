// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench::geofem {

// Which rows are next to which: the neighbours of row r are at [first[r], first[r + 1]).
struct Graph {
  std::vector<std::uint32_t> first;
  std::vector<int> neighbours;
  int size() const { return static_cast<int>(first.size()) - 1; }
};

// A colour for each row. Rows of one colour have no connection, unless there is one colour only: then rows
// follow each other in their own order.
struct Colours {
  std::vector<int> of_row;
  int count = 0;
};

// none: the rows' own order. mc: multicolour, about `wanted` colours of the same size (more where they do not
// do). rcm: reverse Cuthill-McKee level sets, from which connected rows are put off to the next. cm-rcm:
// these levels dealt to colours in turn, `wanted` of them, or as many more as it takes. As in GeoFEM.
Colours colour(const Graph& graph, const std::string& ordering, int wanted);

// The new order of the rows: thread by thread, within a thread colour by colour, so that each thread's part
// of
// every array is in one piece.
struct Layout {
  int threads = 1, colours = 1;
  std::vector<int> new_of_old, old_of_new;
  std::vector<int> begins;  // of thread t and colour c at t * colours + c; the end of all last

  int begin(int thread, int colour) const {
    return begins[static_cast<std::size_t>(thread) * static_cast<std::size_t>(colours) +
                  static_cast<std::size_t>(colour)];
  }
  int end(int thread, int colour) const { return begin(thread, colour + 1); }
  int begin(int thread) const { return begin(thread, 0); }
  int end(int thread) const { return begin(thread + 1, 0); }
};

Layout lay_out(const Colours& colours, int threads);

}  // namespace bench::geofem
