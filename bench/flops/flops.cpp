// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// The most floating-point operations that the processors do: multiply-and-add on registers alone (JSON).
#include <algorithm>
#include <cstdio>
#include <vector>

#include "common/args.hpp"
#include "common/json.hpp"
#include "common/system.hpp"
#include "common/team.hpp"
#include "flops/loops.hpp"

namespace {

using namespace bench;

struct Settings {
  unsigned threads = usable_processors();
  long repetitions = 5, milliseconds = 200;
  bool help = false;
};

std::vector<Option> options(Settings& s) {
  return {
      {'t', "threads", "N", "threads (the processors that this process may use)",
       [&](auto& v) { s.threads = static_cast<unsigned>(parse_number(v, 1, 4096)); }},
      {'i', "repetitions", "N", "runs of each loop, in turns (5)",
       [&](auto& v) { s.repetitions = parse_number(v, 1, 1000); }},
      {'m', "milliseconds", "MS", "length of a run (200)",
       [&](auto& v) { s.milliseconds = parse_number(v, 1, 60000); }},
      {'h', "help", "", "this text", [&](auto&) { s.help = true; }},
  };
}

struct Run {
  Loop loop;
  std::uint64_t turns;
  std::vector<double> one = {}, all = {};  // GFLOPS of one thread, and of all together
};

// The number of turns for a loop of `seconds`.
std::uint64_t turns_for(const Loop& loop, double seconds) {
  std::uint64_t turns = 1 << 16;
  for (;;) {
    const double start = now_s();
    loop.run(turns);
    const double took = now_s() - start;
    if (took > seconds / 4)
      return std::max<std::uint64_t>(1,
                                     static_cast<std::uint64_t>(static_cast<double>(turns) * seconds / took));
    turns *= 2;
  }
}

// GFLOPS of `threads` threads; `worst` is the largest error of all threads.
double measure(const Run& run, unsigned threads, double& worst) {
  std::vector<double> errors(threads);
  const double seconds = Team(threads).run([&](unsigned i) { errors[i] = run.loop.run(run.turns); });
  worst = std::max(worst, *std::max_element(errors.begin(), errors.end()));
  return run.loop.operations(run.turns) * threads / seconds / 1e9;
}

void put(Json& json, const char* name, const std::vector<double>& values) {
  const Spread s = spread(values);
  json.object(name).put("min", s.min).put("median", s.median).put("max", s.max).list("samples");
  for (const double value : values) json.put("", value);
  json.close().close();
}

int run(const Settings& s) {
  std::vector<Run> runs;
  for (const Loop& loop : loops())
    runs.push_back({loop, turns_for(loop, static_cast<double>(s.milliseconds) / 1e3)});
  double worst = 0;
  for (long i = 0; i < s.repetitions; ++i) {
    for (Run& run : runs) {
      run.one.push_back(measure(run, 1, worst));
      run.all.push_back(measure(run, s.threads, worst));
    }
  }
  Json json("flops");
  json.object("parameters").put("threads", s.threads).put("repetitions", s.repetitions);
  json.put("milliseconds", s.milliseconds).close().list("loops");
  const Run* best = nullptr;
  for (const Run& run : runs) {
    json.object().put("isa", run.loop.name).put("lanes", run.loop.lanes).put("turns", run.turns);
    put(json, "one_thread_gflops", run.one);
    put(json, "all_threads_gflops", run.all);
    json.close();
    if (best == nullptr || spread(run.all).max > spread(best->all).max) best = &run;
  }
  json.close().put("best", best->loop.name).put("peak_gflops", spread(best->all).max);
  json.put("peak_gflops_one_thread", spread(best->one).max).put("verified", worst == 0);
  std::fputs(json.finish().c_str(), stdout);
  if (worst != 0) std::fputs("flops: a loop computed something else than it should\n", stderr);
  return worst == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  const std::vector<Option> table = options(settings);
  try {
    parse_arguments(argc, argv, table);
    if (settings.help) {
      std::printf("flops: the processors' peak, measured for each instruction set (JSON)\n%s",
                  describe(table).c_str());
      return 0;
    }
    return run(settings);
  } catch (const BadUsage& problem) {
    std::fprintf(stderr, "flops: %s\n", problem.what());
    return 2;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "flops: %s\n", problem.what());
    return 1;
  }
}
