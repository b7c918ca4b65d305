// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "geofem/settings.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "common/args.hpp"

namespace bench::geofem {
namespace {

// "40" or "40,20,30"
Triple parse_nodes(const std::string& text) {
  const std::vector<std::string> parts = split(text);
  if (parts.size() != 1 && parts.size() != 3) throw BadUsage("'" + text + "' is neither N nor NX,NY,NZ");
  Triple nodes{};
  for (std::size_t d = 0; d < 3; d++) nodes[d] = parse_number(parts[parts.size() == 1 ? 0 : d], 1, 100000);
  return nodes;
}

std::string choose(const std::string& given, const std::vector<std::string>& known) {
  if (std::ranges::find(known, given) != known.end()) return given;
  std::string all;
  for (const std::string& one : known) all += (all.empty() ? "" : ", ") + one;
  throw BadUsage("'" + given + "' is none of " + all);
}

double parse_tolerance(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != 0 || !(value >= 1e-14) || value >= 1) {
    throw BadUsage("'" + text + "' is not a number from 1e-14 to 1");
  }
  return value;
}

std::vector<Option> options(Settings& s) {
  return {
      {'n', "per-core", "N|NX,NY,NZ", "nodes for each thread of each rank (40)",
       [&](auto& v) { s.per_core = parse_nodes(v); }},
      {'N', "whole", "N|NX,NY,NZ", "nodes of the whole cuboid instead",
       [&](auto& v) { s.whole = parse_nodes(v); }},
      {'t', "threads", "A", "threads of each rank: with B ranks on a node, hybrid A x B (1: flat MPI)",
       [&](auto& v) { s.threads = static_cast<int>(parse_number(v, 1, 1024)); }},
      {'r', "ordering", "NAME", "mc, rcm, cm-rcm, or none, which allows one thread only (cm-rcm)",
       [&](auto& v) {
         s.ordering = choose(v, {"none", "mc", "rcm", "cm-rcm"});
       }},
      {'c', "colours", "N", "of mc and cm-rcm; more where so few do not do (10)",
       [&](auto& v) { s.colours = static_cast<int>(parse_number(v, 1, 1000000)); }},
      {'p', "problem", "NAME", "traction (the solution is linear) or manufactured (sines) (traction)",
       [&](auto& v) {
         s.problem = choose(v, {"traction", "manufactured"});
       }},
      {'e', "tolerance", "X", "residual by load at which the iteration ends (1e-8)",
       [&](auto& v) { s.tolerance = parse_tolerance(v); }},
      {'m', "max-iterations", "N", "give up after so many (100000)",
       [&](auto& v) { s.most_iterations = parse_number(v, 1, 1L << 40); }},
      {'i', "repetitions", "N", "solve so many times; medians count (1)",
       [&](auto& v) { s.repetitions = parse_number(v, 1, 10000); }},
      {0, "no-limit", "", "do not measure the memory", [&](auto&) { s.limit = false; }},
      {0, "dump", "FILE", "write matrix, load and solution as text to FILE.RANK",
       [&](auto& v) { s.dump = v; }},
      {'h', "help", "", "this text", [&](auto&) { s.help = true; }},
  };
}

}  // namespace

Settings parse(int argc, char** argv) {
  Settings settings;
  parse_arguments(argc, argv, options(settings));
  if (settings.ordering == "none" && settings.threads > 1) {
    throw BadUsage("--ordering none leaves nothing to do at the same time: choose mc, rcm or cm-rcm");
  }
  return settings;
}

std::string help_text() {
  Settings unused;
  return "geofem: 3-D linear elasticity on a cuboid, conjugate gradients with symmetric Gauss-Seidel "
         "(JSON)\n" +
         describe(options(unused));
}

}  // namespace bench::geofem
