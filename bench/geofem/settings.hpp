// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "geofem/domain.hpp"

namespace bench::geofem {

struct Settings {
  Triple per_core{40, 40, 40};  // nodes for each thread of each rank
  Triple whole{0, 0, 0};        // nodes of the whole cuboid instead
  int threads = 1;              // of each rank
  std::string ordering = "cm-rcm";
  int colours = 10;
  std::string problem = "traction";
  double tolerance = 1e-8;
  long most_iterations = 100000;
  long repetitions = 1;
  bool limit = true;  // measure the memory
  std::string dump;   // file name: matrix, load and solution as text, one file for each rank
  bool help = false;
};

// Reads the command line; throws BadUsage.
Settings parse(int argc, char** argv);
std::string help_text();

}  // namespace bench::geofem
