// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// The memory's rate for plain loops over long arrays: the limit of every program that streams through it
// (JSON).
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "common/args.hpp"
#include "common/json.hpp"
#include "common/system.hpp"
#include "common/team.hpp"
#include "memory/kernels.hpp"

namespace {

using namespace bench;

struct Settings {
  std::uint64_t size = 256 << 20;
  unsigned threads = usable_processors();
  long repetitions = 10;
  bool help = false;
};

std::vector<Option> options(Settings& s) {
  return {
      {'b', "size", "SIZE", "bytes of each of the three arrays; several times the last-level cache (256m)",
       [&](auto& v) {
         s.size = parse_size(v);
         if (s.size < 4096) throw BadUsage("at least 4k");
       }},
      {'t', "threads", "N", "threads (the processors that this process may use)",
       [&](auto& v) { s.threads = static_cast<unsigned>(parse_number(v, 1, 4096)); }},
      {'i', "repetitions", "N", "times that each loop runs, in turns, after one that is not counted (10)",
       [&](auto& v) { s.repetitions = parse_number(v, 1, 1000); }},
      {'h', "help", "", "this text", [&](auto&) { s.help = true; }},
  };
}

// One loop in one form, and the rates that it reached.
struct Run {
  const Kernel* kernel;
  std::vector<double> gb_s = {};
};

// Each thread has one part of every array, and is the first to touch it.
class Arrays {
 public:
  Arrays(std::size_t count, const Team& team)
      : count_(count), a_(new double[count]), b_(new double[count]), c_(new double[count]), team_(team) {
    team_.run([this](unsigned thread) {
      const auto [begin, end] = part(thread);
      for (std::size_t i = begin; i < end; ++i) {
        b_[i] = source(i);
        c_[i] = 2;
        a_[i] = 0;
      }
    });
  }

  // Seconds of one pass.
  double pass(const Kernel& kernel, double& sum) {
    std::vector<double> sums(team_.size());
    const double seconds = team_.run([&](unsigned thread) {
      const auto [begin, end] = part(thread);
      sums[thread] = kernel.run(a_.get() + begin, b_.get() + begin, c_.get() + begin, end - begin);
    });
    sum = 0;
    for (const double one : sums) sum += one;
    return seconds;
  }

  bool holds(const Kernel& kernel, double sum) const {
    if (kernel.reads_only) {
      double expected = 0;
      for (std::size_t i = 0; i < count_; ++i) expected += source(i);
      return sum == expected;  // whole numbers that are small enough: exact in any order
    }
    for (std::size_t i = 0; i < count_; ++i) {
      if (a_[i] != kernel.expected(b_[i], c_[i])) return false;
    }
    return true;
  }

  void forget() { std::fill_n(a_.get(), count_, 0.0); }

 private:
  static double source(std::size_t i) { return static_cast<double>(i % 1021); }
  std::pair<std::size_t, std::size_t> part(unsigned thread) const {
    // Whole cache lines, so that no line has two writers.
    const std::size_t lines = count_ / line;
    const std::size_t begin = lines * thread / team_.size() * line;
    const std::size_t end = thread + 1 == team_.size() ? count_ : lines * (thread + 1) / team_.size() * line;
    return {begin, end};
  }
  static constexpr std::size_t line = 8;

  std::size_t count_;
  std::unique_ptr<double[]> a_, b_, c_;
  const Team& team_;
};

void report(Json& json, const Run& run, std::uint64_t bytes) {
  const Spread s = spread(run.gb_s);
  json.object().put("loop", run.kernel->loop).put("form", run.kernel->form).put("bytes", bytes);
  json.object("gb_s").put("min", s.min).put("median", s.median).put("max", s.max).close();
  json.list("samples_gb_s");
  for (const double value : run.gb_s) json.put("", value);
  json.close().close();
}

int measure(const Settings& s) {
  const std::size_t count = s.size / sizeof(double);
  const Team team(s.threads);
  Arrays arrays(count, team);
  std::vector<Run> runs;
  for (const Kernel& kernel : kernels()) runs.push_back({&kernel});
  bool right = true;
  for (long i = 0; i <= s.repetitions; ++i) {
    for (Run& run : runs) {
      if (i == 0) arrays.forget();
      double sum = 0;
      const double seconds = arrays.pass(*run.kernel, sum);
      const double bytes = static_cast<double>(count * sizeof(double) * run.kernel->arrays);
      if (i == 0)  // for warming up, and for looking at what came out
        right = arrays.holds(*run.kernel, sum) && right;
      else
        run.gb_s.push_back(bytes / seconds / 1e9);
    }
  }
  Json json("memory");
  json.object("parameters").put("array_bytes", count * sizeof(double)).put("threads", s.threads);
  json.put("repetitions", s.repetitions).close();
  json.list("runs");
  for (const Run& run : runs) report(json, run, count * sizeof(double) * run.kernel->arrays);
  json.close();
  // As STREAM has it, the best pass counts; of a loop's forms, the better.
  json.object("best_gb_s");
  for (const char* loop : {"read", "copy", "scale", "add", "triad"}) {
    double best = 0;
    for (const Run& run : runs) {
      if (std::strcmp(run.kernel->loop, loop) == 0) best = std::max(best, spread(run.gb_s).max);
    }
    json.put(loop, best);
  }
  json.close().put("verified", right);
  std::fputs(json.finish().c_str(), stdout);
  if (!right) std::fputs("memory: an array does not hold what the loop should have written\n", stderr);
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  const std::vector<Option> table = options(settings);
  try {
    parse_arguments(argc, argv, table);
    if (settings.help) {
      std::printf("memory: rates of plain loops over long arrays (JSON)\n%s", describe(table).c_str());
      return 0;
    }
    return measure(settings);
  } catch (const BadUsage& problem) {
    std::fprintf(stderr, "memory: %s\n", problem.what());
    return 2;
  } catch (const std::bad_alloc&) {
    std::fputs("memory: there is not enough memory for three arrays of this --size\n", stderr);
    return 1;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "memory: %s\n", problem.what());
    return 1;
  }
}
