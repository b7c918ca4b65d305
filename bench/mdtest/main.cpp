// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// Operations on files and directories, as MDTEST does them, beside what one process gets from the file
// system.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "common/json.hpp"
#include "common/mpi.hpp"
#include "mdtest/run.hpp"

namespace {

using namespace bench;
using namespace bench::mdtest;

struct Rates {
  double max = 0, min = 0, mean = 0, deviation = 0;
};

// As MDTEST has them: of each iteration all operations by the slowest rank's time; over iterations the mean
// of rates.
Rates rates_of(const std::vector<double>& seconds, std::uint64_t items) {
  std::vector<double> rates;
  rates.reserve(seconds.size());
  for (const double s : seconds) rates.push_back(static_cast<double>(items) / s);
  const auto count = static_cast<double>(rates.size());
  Rates r{*std::ranges::max_element(rates), *std::ranges::min_element(rates),
          std::accumulate(rates.begin(), rates.end(), 0.0) / count, 0};
  for (const double rate : rates) r.deviation += (rate - r.mean) * (rate - r.mean);
  r.deviation = rates.size() > 1 ? std::sqrt(r.deviation / (count - 1)) : 0;
  return r;
}

void put_run(Json& json, const Measured& run, const Limits& limits) {
  json.object().put("ranks", run.ranks).list("operations");
  for (std::size_t op = 0; op < operation_count; op++) {
    if (run.seconds[op].empty()) continue;
    const Rates r = rates_of(run.seconds[op], run.items[op]);
    json.object().put("operation", operation_names[op]).put("items", run.items[op]);
    json.put("mean_per_s", r.mean)
        .put("max_per_s", r.max)
        .put("min_per_s", r.min)
        .put("deviation", r.deviation);
    if (limits[op] > 0) json.put("limit_per_s", limits[op]).put("fraction_of_limit", r.mean / limits[op]);
    json.list("seconds");
    for (const double s : run.seconds[op]) json.put("", s);
    json.close().close();
  }
  json.close().put("errors", run.errors).close();
}

void report(const Settings& s, int ranks, const std::vector<Measured>& runs, const Limits& limits) {
  Json json("mdtest");
  json.put("mpi", mpi_version()).put("ranks", ranks);
  json.object("parameters")
      .put("directory", s.directory)
      .put("items", s.items)
      .put("items_per_dir", s.items_per_dir);
  json.put("iterations", s.iterations).put("branches", s.branches).put("depth", s.depth);
  json.put("tree_directories", s.directories).put("leaf_only", s.leaf_only).put("unique", s.unique);
  json.put("files", s.files)
      .put("dirs", s.dirs)
      .put("write_bytes", s.write_bytes)
      .put("read_bytes", s.read_bytes);
  json.put("fsync", s.fsync).put("sync_phases", s.sync_phases).put("shift", s.shift).put("random", s.random);
  json.put("shared_file", s.shared_file)
      .put("rank_0_creates", s.rank_0_creates)
      .put("barriers", s.barriers)
      .close();
  if (s.limit_items > 0) json.object("limit").put("processes", 1).put("items", s.limit_items).close();
  long errors = 0;
  json.list("runs");
  for (const Measured& run : runs) {
    put_run(json, run, limits);
    errors += run.errors;
  }
  json.close().put("errors", errors).put("verified", errors == 0);
  std::fputs(json.finish().c_str(), stdout);
}

// Makes it if it is not there; true if so.
bool make_working_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0775) == 0) return true;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    throw std::runtime_error("cannot make directory " + path + ": " + std::strerror(errno));
  }
  return false;
}

int start(int argc, char** argv, int rank, int ranks) {
  const Settings s = parse(argc, argv, ranks);
  if (s.help) {
    if (rank == 0) std::fputs(help_text().c_str(), stdout);
    return 0;
  }
  const bool made = rank == 0 && make_working_directory(s.directory);
  Limits limits{};
  if (rank == 0 && s.limit_items > 0) limits = measure_limits(s, s.directory);
  check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  std::vector<Measured> runs;
  for (long part = s.first; part <= s.last; part += s.stride) {
    MPI_Comm comm = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split(MPI_COMM_WORLD, rank < part ? 0 : MPI_UNDEFINED, rank, &comm), "MPI_Comm_split");
    if (comm == MPI_COMM_NULL) continue;
    runs.push_back(measure(s, comm));
    MPI_Comm_free(&comm);
  }
  long errors = 0;
  if (rank == 0) {
    if (made && s.remove) ::rmdir(s.directory.c_str());
    report(s, ranks, runs, limits);
    for (const Measured& run : runs) errors += run.errors;
  }
  check_mpi(MPI_Bcast(&errors, 1, MPI_LONG, 0, MPI_COMM_WORLD), "MPI_Bcast");
  return errors == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return bench::mpi_main("mdtest", argc, argv, start); }
