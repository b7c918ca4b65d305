// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// One file that every rank reads whole.
#include <algorithm>

#include "common/args.hpp"
#include "common/json.hpp"
#include "common/mpi.hpp"

namespace {

using namespace bench;

struct Settings {
  std::uint64_t bytes = 64 << 20, transfer = 1 << 20, seed = 0;
  long repetitions = 1;
  bool collective = false, check = false, warm = true, keep = false, help = false;
  std::string file = "whole.in";
  Hints hints;
};

std::vector<Option> options(Settings& s) {
  return {
      {'b', "bytes", "SIZE", "of the file (64m)", [&](auto& v) { s.bytes = parse_size(v); }},
      {'t', "transfer", "SIZE", "of one call (1m)", [&](auto& v) { s.transfer = parse_size(v); }},
      {'c', "collective", "", "collective calls", [&](auto&) { s.collective = true; }},
      {'R', "check-read", "", "check all that is read", [&](auto&) { s.check = true; }},
      {'i', "repetitions", "N", "repetitions (1)",
       [&](auto& v) { s.repetitions = parse_number(v, 1, 10000); }},
      {'o', "file", "FILE", "the file, made before (whole.in)", [&](auto& v) { s.file = v; }},
      {0, "hint", "NAME=VALUE", "an MPI_Info hint for MPI_File_open",
       [&](auto& v) {
         const std::size_t at = v.find('=');
         if (at == 0 || at == std::string::npos) throw BadUsage("'" + v + "' is not NAME=VALUE");
         s.hints.emplace_back(v.substr(0, at), v.substr(at + 1));
       }},
      {0, "no-warm", "", "do not touch and free memory before each run", [&](auto&) { s.warm = false; }},
      {'k', "keep", "", "leave the file", [&](auto&) { s.keep = true; }},
      {'h', "help", "", "this text", [&](auto&) { s.help = true; }},
  };
}

// Every byte of the file, a transfer at a time; the number of transfers that were wrong, if they are checked.
long read_all(const Settings& s, MPI_File file, std::vector<unsigned char>& data, bool check) {
  long errors = 0;
  for (std::uint64_t at = 0; at < s.bytes; at += data.size()) {
    const int size = static_cast<int>(std::min<std::uint64_t>(data.size(), s.bytes - at));
    MPI_Status status;
    const auto offset = static_cast<MPI_Offset>(at);
    check_mpi(s.collective ? MPI_File_read_at_all(file, offset, data.data(), size, MPI_BYTE, &status)
                           : MPI_File_read_at(file, offset, data.data(), size, MPI_BYTE, &status),
              "MPI_File_read_at");
    check_count(status, MPI_BYTE, size, "MPI_File_read_at");
    if (check && mismatch(data.data(), static_cast<std::size_t>(size), at, s.seed) != no_mismatch) ++errors;
  }
  return errors;
}

int run(const Settings& s, int rank, int ranks) {
  if (rank == 0) {
    make_file(s.file, s.bytes, s.seed);
    sync_file_system(s.file);
  }
  std::vector<unsigned char> data(s.transfer);
  std::vector<std::vector<double>> times;
  long errors = 0;
  for (long i = 0; i < s.repetitions; ++i) {
    const auto copies = static_cast<unsigned>(ranks);  // if each node is to have one
    if (s.warm) warm_memory(s.bytes * copies, copies, [] { MPI_Barrier(MPI_COMM_WORLD); });
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now_s();
    MPI_File file = open_mpi_file(s.file, MPI_MODE_RDONLY, s.hints);
    const double opened = now_s();
    read_all(s, file, data, false);
    const double done = now_s();
    times.push_back(max_over_ranks({opened - begin, done - opened, done - begin}));
    if (s.check) errors += read_all(s, file, data, true);
    check_mpi(MPI_File_close(&file), "MPI_File_close");
  }
  errors = sum_over_ranks(errors);
  if (rank != 0) return errors == 0 ? 0 : 1;
  if (!s.keep) remove_file(s.file);
  Json json("whole");
  json.put("mpi", mpi_version()).put("ranks", ranks).put("bytes", s.bytes).put("transfer", s.transfer);
  json.put("collective", s.collective).object("read").list("repetitions");
  std::vector<double> seconds;
  for (const std::vector<double>& t : times) {
    seconds.push_back(t[2]);
    json.object().put("seconds", t[2]).put("open_s", t[0]).put("io_s", t[1]).close();
  }
  const Spread all = spread(seconds);
  json.close().put("min_s", all.min).put("median_s", all.median).put("max_s", all.max).close();
  json.put("checked", s.check).put("errors", errors).put("verified", s.check && errors == 0);
  std::fputs(json.finish().c_str(), stdout);
  return errors == 0 ? 0 : 1;
}

int start(int argc, char** argv, int rank, int ranks) {
  Settings settings;
  const std::vector<Option> table = options(settings);
  parse_arguments(argc, argv, table);
  if (settings.help) {
    if (rank == 0) std::printf("whole: every rank reads one file (JSON)\n%s", describe(table).c_str());
    return 0;
  }
  if (settings.bytes == 0 || settings.transfer == 0 || settings.transfer > 1 << 30)
    throw BadUsage("--bytes and --transfer must be more than 0, --transfer at most 1g");
  return run(settings, rank, ranks);
}

}  // namespace

int main(int argc, char** argv) { return bench::mpi_main("whole", argc, argv, start); }
