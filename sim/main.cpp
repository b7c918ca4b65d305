// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/time.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "ior.hpp"
#include "run.hpp"
#include "scale.hpp"

namespace {

using namespace millrace::sim;

// With --stop, SIGPROF ends the program after this processor time in one seed: a planted bug may make a run
// endless. A seed takes less than a second.
constexpr itimerval seed_bound = {{}, {.tv_sec = 60, .tv_usec = 0}};

constexpr const char* usage =
    "usage: millrace-sim [--trace|--stop] FIRST [COUNT]\n"
    "       millrace-sim --scale NODES MIB [SHRINK [direct|ring|tree [LANES [PIECE]]]]\n"
    "       millrace-sim --ior [NAME=VALUE]...\n"
    "Runs the seeds, one line each, and what was wrong. --trace: with all that happened; --stop: no further "
    "than the\n"
    "first that is bad. --scale: MIB of each node into one file; a byte stands for SHRINK bytes; PIECE of "
    "them "
    "are\nwritten at a time. --ior: a run of bench/ior; names are:\n";

bool report(const Scenario& scenario, const Outcome& outcome, bool tell) {
  for (const std::string& line : outcome.trace) std::printf("%s\n", line.c_str());
  if (tell || !outcome.problems.empty()) std::printf("%s\n", scenario.describe().c_str());
  std::printf("seed %" PRIu64 "  hash %016" PRIx64 "  %" PRIu64
              " events  %.3f s  %u of %u ranks told of errors  %s\n",
              scenario.seed, outcome.hash, outcome.events, static_cast<double>(outcome.virtual_ns) / 1e9,
              outcome.errors, outcome.ranks, outcome.problems.empty() ? "good" : "BAD");
  for (const std::string& problem : outcome.problems) std::printf("  %s\n", problem.c_str());
  return outcome.problems.empty();
}

int tell_usage() {
  std::fprintf(stderr, "%s%s\n", usage, Ior::names().c_str());
  return 2;
}

int run_ior(int argc, char** argv) {
  Ior ior;
  for (int at = 2; at < argc; ++at) {
    if (!ior.set(argv[at])) return tell_usage();
  }
  if (ior.machine.nodes == 0 || ior.transfer == 0 || ior.block % ior.transfer != 0) return tell_usage();
  const Scenario scenario = make_ior(ior);
  const Outcome outcome = run(scenario);
  const bool good = report(scenario, outcome, false);
  std::printf("%" PRIu64 " bytes in %" PRIu64 " ns\n", scenario.file_bytes, outcome.virtual_ns);
  return good ? 0 : 1;
}

int run_scale(int argc, char** argv) {
  const auto number = [&](int at, std::uint64_t otherwise) {
    return argc > at ? std::strtoull(argv[at], nullptr, 10) : otherwise;
  };
  Scale scale;
  scale.nodes = static_cast<std::uint32_t>(number(2, scale.nodes));
  scale.node_bytes = number(3, 1024) * millrace::MiB;
  scale.shrink = number(4, scale.shrink);
  for (const auto topology : {millrace::Topology::ring, millrace::Topology::tree})
    if (argc > 5 && argv[5] == name_of(topology)) scale.topology = topology;
  scale.lanes = static_cast<std::uint32_t>(number(6, scale.lanes));
  scale.piece_bytes = number(7, scale.piece_bytes);
  if (scale.nodes == 0 || scale.shrink == 0 || scale.lanes == 0 || scale.piece_bytes == 0)
    return tell_usage();
  const Scenario scenario = make_scale(scale);
  const Outcome outcome = run(scenario);
  const double seconds = static_cast<double>(outcome.virtual_ns) / 1e9;
  const double bytes = static_cast<double>(scenario.file_bytes) * static_cast<double>(scale.shrink);
  const bool good = report(scenario, outcome, true);
  std::printf("%.1f GiB in %.3f s: %.3f GB/s\n", bytes / static_cast<double>(millrace::GiB), seconds,
              bytes / seconds / 1e9);
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  int at = 1;
  const std::string_view option = argc > at ? argv[at] : "";
  if (option == "--scale") return run_scale(argc, argv);
  if (option == "--ior") return run_ior(argc, argv);
  const bool trace = option == "--trace";
  const bool stop = option == "--stop";
  if (trace || stop) ++at;
  if (argc <= at) return tell_usage();
  const std::uint64_t first = std::strtoull(argv[at], nullptr, 10);
  const std::uint64_t count = argc > at + 1 ? std::strtoull(argv[at + 1], nullptr, 10) : 1;
  bool good = true;
  for (std::uint64_t seed = first; seed < first + count && (good || !stop); ++seed) {
    if (stop) ::setitimer(ITIMER_PROF, &seed_bound, nullptr);
    const Scenario scenario = make_scenario(seed);
    good = report(scenario, run(scenario, trace), trace) && good;
  }
  return good ? 0 : 1;
}
