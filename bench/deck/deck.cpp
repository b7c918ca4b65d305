// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// One input file that every rank reads whole after MPI_Init, with open and read.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "common/args.hpp"
#include "common/json.hpp"
#include "common/mpi.hpp"

namespace {

using namespace bench;

const double process_began = now_s();  // before main, so before MPI_Init

struct Settings {
  std::uint64_t bytes = 64 << 20, transfer = 1 << 20;
  bool make = false, check = false, help = false;
  std::string file = "deck.in";
};

std::vector<Option> options(Settings& s) {
  return {
      {'b', "bytes", "SIZE", "of the file (64m)", [&](auto& v) { s.bytes = parse_size(v); }},
      {'t', "transfer", "SIZE", "of one call (1m)", [&](auto& v) { s.transfer = parse_size(v); }},
      {'w', "make", "", "make the file, and read nothing", [&](auto&) { s.make = true; }},
      {'R', "check-read", "", "check all that is read", [&](auto&) { s.check = true; }},
      {'o', "file", "FILE", "the file (deck.in)", [&](auto& v) { s.file = v; }},
      {'h', "help", "", "this text", [&](auto&) { s.help = true; }},
  };
}

// Reads from the descriptor's offset to the end. Returns the number of bytes, and counts wrong transfers.
std::uint64_t read_all(int fd, std::vector<unsigned char>& data, bool check, long& errors) {
  std::uint64_t at = 0;
  for (;;) {
    const ssize_t got = read(fd, data.data(), data.size());
    if (got < 0) throw std::runtime_error("read fails");
    if (got == 0) return at;
    const auto size = static_cast<std::size_t>(got);
    if (check && mismatch(data.data(), size, at, 0) != no_mismatch) ++errors;
    at += size;
  }
}

int run(const Settings& s, int rank, int ranks, double ready) {
  std::vector<unsigned char> data(s.transfer);
  long errors = 0;
  const double begin = now_s();
  const int fd = open(s.file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw std::runtime_error("cannot open " + s.file);
  const double opened = now_s();
  if (read_all(fd, data, false, errors) != s.bytes) ++errors;
  const double done = now_s();
  const std::vector<double> times =
      max_over_ranks({ready - process_began, done - begin, done - process_began, opened - begin});
  if (s.check) {
    if (lseek(fd, 0, SEEK_SET) != 0) ++errors;
    if (read_all(fd, data, true, errors) != s.bytes) ++errors;
  }
  close(fd);
  errors = sum_over_ranks(errors);
  if (rank != 0) return errors == 0 ? 0 : 1;
  Json json("deck");
  json.put("mpi", mpi_version()).put("ranks", ranks).put("bytes", s.bytes).put("transfer", s.transfer);
  json.put("init_s", times[0]).put("read_s", times[1]).put("all_s", times[2]).put("open_s", times[3]);
  json.put("checked", s.check).put("errors", errors).put("verified", s.check && errors == 0);
  std::fputs(json.finish().c_str(), stdout);
  return errors == 0 ? 0 : 1;
}

int start(int argc, char** argv, int rank, int ranks) {
  const double ready = now_s();
  Settings settings;
  const std::vector<Option> table = options(settings);
  parse_arguments(argc, argv, table);
  if (settings.help) {
    if (rank == 0) std::printf("deck: every rank reads an input file (JSON)\n%s", describe(table).c_str());
    return 0;
  }
  if (settings.bytes == 0 || settings.transfer == 0)
    throw BadUsage("--bytes and --transfer must be more than 0");
  if (!settings.make) return run(settings, rank, ranks, ready);
  if (rank == 0) {
    make_file(settings.file, settings.bytes, 0);
    sync_file_system(settings.file);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return bench::mpi_main("deck", argc, argv, start); }
