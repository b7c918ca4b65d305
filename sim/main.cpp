// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// millrace-sim [--trace|--stop] FIRST [COUNT]: runs the seeds, one line each, and what was wrong. --trace:
// with all that happened; --stop: no further than the first that is bad.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "run.hpp"

int main(int argc, char** argv) {
  using namespace millrace::sim;
  int at = 1;
  const bool trace = argc > at && std::string_view(argv[at]) == "--trace";
  const bool stop = argc > at && std::string_view(argv[at]) == "--stop";
  if (trace || stop) ++at;
  if (argc <= at) {
    std::fprintf(stderr, "usage: millrace-sim [--trace|--stop] FIRST [COUNT]\n");
    return 2;
  }
  const std::uint64_t first = std::strtoull(argv[at], nullptr, 10);
  const std::uint64_t count = argc > at + 1 ? std::strtoull(argv[at + 1], nullptr, 10) : 1;
  bool good = true;
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  for (std::uint64_t seed = first; seed < first + count && (good || !stop); ++seed) {
    const Scenario scenario = make_scenario(seed);
    const Outcome outcome = run(scenario, trace);
    for (const std::string& line : outcome.trace) std::printf("%s\n", line.c_str());
    if (trace || !outcome.problems.empty()) std::printf("%s\n", scenario.describe().c_str());
    std::printf("seed %" PRIu64 "  hash %016" PRIx64 "  %" PRIu64
                " events  %.3f s  %u of %u ranks told of errors  %s\n",
                seed, outcome.hash, outcome.events, static_cast<double>(outcome.virtual_ns) / 1e9,
                outcome.errors, outcome.ranks, outcome.problems.empty() ? "good" : "BAD");
    for (const std::string& problem : outcome.problems) std::printf("  %s\n", problem.c_str());
    good = good && outcome.problems.empty();
  }
  return good ? 0 : 1;
}
