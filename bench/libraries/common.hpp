// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Shared code of the programs over a library: options, the order of a repetition, the report.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "common/args.hpp"
#include "common/json.hpp"
#include "common/mpi.hpp"

namespace bench {

struct LibrarySettings {
  std::string file;
  bool sync = false, warm = true, keep = false, read_only = false, help = false;
  long repetitions = 1;
  std::uint64_t seed = 0;
};

inline std::vector<Option> library_options(LibrarySettings& s) {
  return {
      {'o', "file", "FILE", "file to write (" + s.file + ")", [&](auto& v) { s.file = v; }},
      {'e', "sync", "", "the library's flush before close", [&](auto&) { s.sync = true; }},
      {'i', "repetitions", "N", "repetitions (1)",
       [&](auto& v) { s.repetitions = parse_number(v, 1, 10000); }},
      {'G', "seed", "N", "seed of the data (0)",
       [&](auto& v) { s.seed = static_cast<std::uint64_t>(parse_number(v, 0, 1L << 40)); }},
      {0, "no-warm", "", "do not touch and free memory before each run", [&](auto&) { s.warm = false; }},
      {'k', "keep", "", "leave the file", [&](auto&) { s.keep = true; }},
      {'r', "read-only", "",
       "write nothing; read the file that a run with --keep and the same options has left",
       [&](auto&) { s.read_only = true; }},
      {'h', "help", "", "this text", [&](auto&) { s.help = true; }},
  };
}

// Fills [data, data + count) with the values of element `first` and those after it; the other way round,
// counts the values that are not these.
inline void fill_values(std::vector<unsigned long long>& data, std::uint64_t first, std::uint64_t seed) {
  for (std::size_t i = 0; i < data.size(); i++) data[i] = word(first + i, seed);
}
inline long wrong_values(const std::vector<unsigned long long>& data, std::uint64_t first,
                         std::uint64_t seed) {
  long wrong = 0;
  for (std::size_t i = 0; i < data.size(); i++) wrong += data[i] != word(first + i, seed);
  return wrong;
}

// A program: `write` makes the file, from creating to closing it, and `read` opens it again and reads what
// another rank wrote. Both give the number of wrong values that this rank has read.
struct LibraryProgram {
  const char* name;
  std::uint64_t bytes;  // of the data, without the library's own
  std::function<void(Json&)> put_parameters;
  std::function<long()> write, read;
};

inline void report_rates(Json& json, const char* name, std::uint64_t bytes,
                         const std::vector<double>& seconds) {
  std::vector<double> mib_s;
  mib_s.reserve(seconds.size());
  for (const double s : seconds) mib_s.push_back(static_cast<double>(bytes) / (1 << 20) / s);
  const Spread rate = spread(mib_s), time = spread(seconds);
  json.object(name).put("min_mib_s", rate.min).put("median_mib_s", rate.median).put("max_mib_s", rate.max);
  json.put("min_s", time.min).put("median_s", time.median).put("max_s", time.max).close();
}

inline int run_library(const LibrarySettings& s, const LibraryProgram& program, int rank, int ranks) {
  std::vector<double> write_s, read_s;
  long errors = 0;
  for (long i = 0; i < s.repetitions; i++) {
    std::vector<double> times(2);
    if (!s.read_only) {
      prepare_run(s.file, program.bytes, s.warm, rank, ranks);
      const double begin = now_s();
      errors += program.write();
      times[0] = now_s() - begin;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now_s();
    errors += program.read();
    times[1] = now_s() - begin;
    times = max_over_ranks(times);
    write_s.push_back(times[0]);
    read_s.push_back(times[1]);
  }
  errors = sum_over_ranks(errors);
  if (rank == 0) {
    if (!s.keep) remove_file(s.file);
    Json json(program.name);
    json.put("mpi", mpi_version()).put("ranks", ranks).object("parameters");
    program.put_parameters(json);
    json.put("file", s.file).put("sync", s.sync).put("warm", s.warm).put("seed", s.seed);
    json.put("repetitions", s.repetitions).close().put("bytes", program.bytes);
    if (!s.read_only) report_rates(json, "write", program.bytes, write_s);
    report_rates(json, "read", program.bytes, read_s);
    json.put("checked", true).put("errors", errors).put("verified", errors == 0);
    std::fputs(json.finish().c_str(), stdout);
  }
  return errors == 0 ? 0 : 1;
}

}  // namespace bench
