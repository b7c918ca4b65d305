// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// One file per process: each rank writes its values, and reads them back (JSON).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "common/args.hpp"
#include "common/json.hpp"
#include "common/mpi.hpp"
#include "fpp/kernel.h"

namespace {

using namespace bench;

constexpr const char* fortran_buffer = "GFORTRAN_UNFORMATTED_BUFFER_SIZE";
constexpr fpp_kernel fpp_fortran{fpp_f_open, fpp_f_write, fpp_f_read, fpp_f_close};

struct Settings {
  std::string language = "c", folder = ".", method = "normal";
  std::vector<std::uint64_t> sizes = {1 << 20, 8 << 20, 32 << 20, 128 << 20};
  std::uint64_t buffer = 512 << 10;
  long repetitions = 10;
  bool fsync = false, warm = true, help = false;
};

std::vector<std::uint64_t> parse_sizes(const std::string& text) {
  std::vector<std::uint64_t> sizes;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    sizes.push_back(parse_size(text.substr(at, end - at)));
    if (sizes.back() == 0 || sizes.back() % 8 != 0) throw BadUsage("sizes are multiples of 8 bytes");
    at = end + 1;
  }
  return sizes;
}

std::vector<Option> options(Settings& s) {
  return {
      {'l', "language", "c|fortran", "fwrite and fread, or unformatted WRITE and READ (c)",
       [&](auto& v) {
         if (v != "c" && v != "fortran") throw BadUsage("'" + v + "' is neither c nor fortran");
         s.language = v;
       }},
      {'s', "sizes", "SIZE,...", "bytes per rank (1m,8m,32m,128m)", [&](auto& v) { s.sizes = parse_sizes(v); }},
      {'b', "buffer", "SIZE", "the language's own buffer (512k)",
       [&](auto& v) {
         s.buffer = parse_size(v);
         if (s.buffer < 512 || s.buffer > (64u << 20)) throw BadUsage("a buffer is from 512 bytes to 64m");
       }},
      {'o', "folder", "DIR", "where each rank has its file (.)", [&](auto& v) { s.folder = v; }},
      {'e', "fsync", "", "the file is on the disk before the time ends", [&](auto&) { s.fsync = true; }},
      {'n', "name", "TEXT", "what the method is called in the result (normal)", [&](auto& v) { s.method = v; }},
      {'i', "repetitions", "N", "repetitions (10)", [&](auto& v) { s.repetitions = parse_number(v, 1, 1000); }},
      {0, "no-warm", "", "do not touch and free memory before each write", [&](auto&) { s.warm = false; }},
      {'h', "help", "", "this text", [&](auto&) { s.help = true; }},
  };
}

// Fortran's runtime reads its environment before main(): the program starts again with the buffer in it.
void start_with_buffer(const Settings& s, char** argv) {
  const std::string wanted = std::to_string(s.buffer);
  const char* now = std::getenv(fortran_buffer);
  if (s.language != "fortran" || (now != nullptr && now == wanted)) return;
  ::setenv(fortran_buffer, wanted.c_str(), 1);
  ::execv("/proc/self/exe", argv);
  throw std::runtime_error("cannot start again with " + std::string(fortran_buffer));
}

void check(int failed, const char* what, const std::string& path) {
  if (failed != 0) throw std::runtime_error(std::string(what) + " failed: " + path);
}

void sync_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = fd >= 0 && ::fsync(fd) == 0;
  if (fd >= 0) ::close(fd);
  if (!done) throw std::runtime_error("fsync failed: " + path);
}

struct Rank {
  const Settings& settings;
  const fpp_kernel& kernel;
  int rank, ranks;
  std::string path;
  std::vector<double> values = {};

  // As the papers take it: barrier, clock, operation, barrier, clock; open and close are outside.
  template <class Operation>
  double timed(Operation&& operation) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = now_s();
    operation();
    MPI_Barrier(MPI_COMM_WORLD);
    return now_s() - start;
  }

  double write(std::uint64_t seed) {
    const std::uint64_t bytes = values.size() * sizeof(double);
    fill(values.data(), bytes, 0, seed);
    prepare_run(path, bytes * static_cast<unsigned>(ranks), settings.warm, rank, ranks);
    remove_file(path);
    check(kernel.open(path.c_str(), 1, settings.buffer), "open", path);
    const double seconds = timed([&] {
      check(kernel.write(values.data(), values.size()), "write", path);
      if (settings.fsync) sync_file(path);
    });
    check(kernel.close(), "close", path);
    return seconds;
  }

  double read(std::uint64_t seed, bool& right) {
    std::fill(values.begin(), values.end(), 0.0);
    check(kernel.open(path.c_str(), 0, settings.buffer), "open", path);
    const double seconds = timed([&] { check(kernel.read(values.data(), values.size()), "read", path); });
    check(kernel.close(), "close", path);
    right = mismatch(values.data(), values.size() * sizeof(double), 0, seed) == no_mismatch;
    return seconds;
  }
};

void put(Json& json, const char* name, const std::vector<double>& values) {
  const Spread s = spread(values);
  double sum = 0;
  for (const double value : values) sum += value;
  json.object(name).put("mean", sum / static_cast<double>(values.size()));
  json.put("min", s.min).put("median", s.median).put("max", s.max).close();
}

int run(const Settings& s, int rank, int ranks) {
  Rank own{s, s.language == "c" ? fpp_c : fpp_fortran, rank, ranks,
           s.folder + "/fpp-" + std::to_string(rank) + ".dat"};
  Json json("fpp");
  json.put("mpi", mpi_version()).put("ranks", ranks).put("language", s.language).put("method", s.method);
  json.put("buffer_bytes", s.buffer).put("fsync", s.fsync).put("memory", "host");
  long wrong = 0;
  json.list("sizes");
  for (const std::uint64_t size : s.sizes) {
    own.values.resize(size / sizeof(double));
    std::vector<double> writes, reads;
    for (long i = 0; i < s.repetitions; ++i) {
      bool right = true;
      const auto seed = static_cast<std::uint64_t>(i * ranks + rank);
      const std::vector<double> longest = max_over_ranks({own.write(seed), own.read(seed, right)});
      const double mib = static_cast<double>(size) * ranks / (1 << 20);
      writes.push_back(mib / longest[0]);
      reads.push_back(mib / longest[1]);
      wrong += sum_over_ranks(right ? 0 : 1);
    }
    json.object().put("bytes_per_rank", size);
    put(json, "write_mib_s", writes);
    put(json, "read_mib_s", reads);
    json.close();
  }
  remove_file(own.path);
  json.close().put("verified", wrong == 0);
  if (rank == 0) std::fputs(json.finish().c_str(), stdout);
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  const std::vector<Option> table = options(settings);
  try {
    parse_arguments(argc, argv, table);
    start_with_buffer(settings, argv);
  } catch (const std::exception&) {  // said by rank 0, below
  }
  return mpi_main("fpp", argc, argv, [](int count, char** words, int rank, int ranks) {
    Settings s;
    const std::vector<Option> known = options(s);
    parse_arguments(count, words, known);
    if (s.help) {
      if (rank == 0)
        std::printf("fpp: one file per process, written and read back (JSON)\n%s", describe(known).c_str());
      return 0;
    }
    return run(s, rank, ranks);
  });
}
