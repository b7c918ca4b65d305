// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// One file per process: each rank writes its values, and reads them back (JSON).
#include <algorithm>
#include <numeric>

#include "common/args.hpp"
#include "common/json.hpp"
#include "common/mpi.hpp"
#include "fpp/start.hpp"
#include "fpp/transfers.hpp"

namespace {

using namespace bench;
using fpp::Settings;

void choose(std::string& value, const std::string& given, const std::vector<std::string>& known) {
  if (std::ranges::find(known, given) == known.end()) {
    std::string all;
    for (const std::string& one : known) all += (all.empty() ? "" : ", ") + one;
    throw BadUsage("'" + given + "' is none of " + all);
  }
  value = given;
}

void choose_sizes(Settings& s, const std::string& text) {
  s.sizes = parse_sizes(text);
  for (const std::uint64_t size : s.sizes) {
    if (size == 0 || size % sizeof(double) != 0) throw BadUsage("sizes are multiples of 8 bytes");
  }
}

std::vector<Option> options(Settings& s) {
  return {
      {'l', "language", "c|fortran", "fwrite and fread, or unformatted WRITE and READ (c)",
       [&](auto& v) {
         choose(s.language, v, {"c", "fortran"});
       }},
      {'m', "method", "NAME",
       "normal, fresh (device memory: a host buffer for each call), accelerated, async, api, requests or "
       "offload (normal)",
       [&](auto& v) {
         choose(s.method, v, {"normal", "fresh", "accelerated", "async", "api", "requests", "offload"});
       }},
      {'p', "preload", "FILE", "accelerated, async: the library that does it, for LD_PRELOAD",
       [&](auto& v) { s.preload = v; }},
      {'L', "library", "FILE", "api, requests, offload: libmillrace_io, which does it",
       [&](auto& v) { s.library = v; }},
      {'M', "memory", "host|device", "where the values are (host)",
       [&](auto& v) {
         choose(s.memory, v, {"host", "device"});
       }},
      {0, "mapping", "ascending|spread",
       "ranks of a node to its devices: fill one first, or in turn (ascending)",
       [&](auto& v) {
         choose(s.mapping, v, {"ascending", "spread"});
       }},
      {0, "per-device", "N", "ascending: ranks of each device (8)",
       [&](auto& v) { s.per_device = parse_number(v, 1, 1000); }},
      {0, "driver", "FILE", "the device driver's library (libcuda.so.1)", [&](auto& v) { s.driver = v; }},
      {'s', "sizes", "SIZE,...", "bytes per rank (1m,8m,32m,128m)", [&](auto& v) { choose_sizes(s, v); }},
      {'b', "buffer", "SIZE", "the language's own buffer (512k)",
       [&](auto& v) {
         s.buffer = parse_size(v);
         if (s.buffer < 512 || s.buffer > (64u << 20)) throw BadUsage("a buffer is from 512 bytes to 64m");
       }},
      {'o', "folder", "DIR", "where each rank has its file (.)", [&](auto& v) { s.folder = v; }},
      {'e', "fsync", "", "a written file is on the disk before the time ends",
       [&](auto&) { s.fsync = true; }},
      {'i', "repetitions", "N", "repetitions (10)",
       [&](auto& v) { s.repetitions = parse_number(v, 1, 1000); }},
      {0, "no-warm", "",
       "do not touch and free memory before each write; one more repetition, the first, is not counted",
       [&](auto&) { s.warm = false; }},
      {'h', "help", "", "this text", [&](auto&) { s.help = true; }},
  };
}

// As the papers take it: barrier, clock, operation, barrier, clock; open and close are outside. Seconds.
template <class Operation>
double timed(Operation&& operation) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = now_s();
  operation();
  MPI_Barrier(MPI_COMM_WORLD);
  return now_s() - start;
}

double mean_over_ranks(double own, int ranks) {
  double sum = 0;
  MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum / ranks;
}

// Bandwidth from the mean time of all ranks and repetitions, as in the papers; and of single repetitions.
void put(Json& json, const char* name, double mib, const std::vector<double>& seconds) {
  std::vector<double> rates;
  rates.reserve(seconds.size());
  for (const double s : seconds) rates.push_back(mib / s);
  const Spread s = spread(rates);
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  json.object(name).put("mean", mib * static_cast<double>(seconds.size()) / sum);
  json.put("min", s.min).put("median", s.median).put("max", s.max).close();
}

struct Times {
  std::vector<double> write, write_close, read, raw_write, raw_read, copy_out, copy_in;
};

class Run {
 public:
  Run(const Settings& s, int rank, int ranks, int device)
      : s_(s), rank_(rank), ranks_(ranks), device_(device) {}

  // One size; false if what was read is not what was written.
  bool measure(std::uint64_t size, Json& json) {
    fpp::Transfers own(s_, s_.folder + "/fpp-" + std::to_string(rank_) + ".dat", size, device_);
    Times times;
    long wrong = 0;
    for (long i = s_.warm ? 0 : -1; i < s_.repetitions; ++i) {
      if (i == 0) times = {};
      const auto seed = static_cast<std::uint64_t>((i + 1) * ranks_ + rank_);
      raw(own, seed, size, times);
      write(own, seed, size, times);
      wrong += sum_over_ranks(read(own, seed, times) ? 0 : 1);
    }
    own.remove();
    report(json, size, times);
    return wrong == 0;
  }

 private:
  void prepare(fpp::Transfers& own, std::uint64_t size) const {
    own.remove();
    prepare_run(own.path(), size * static_cast<unsigned>(ranks_), s_.warm, rank_, ranks_);
  }

  void write(fpp::Transfers& own, std::uint64_t seed, std::uint64_t size, Times& times) const {
    own.fill_values(seed);
    prepare(own, size);
    own.open(true);
    const double seconds = timed([&] { own.write(); });
    const double closing = timed([&] { own.close(); });
    times.write.push_back(mean_over_ranks(seconds, ranks_));
    times.write_close.push_back(mean_over_ranks(seconds + closing, ranks_));
  }

  bool read(fpp::Transfers& own, std::uint64_t seed, Times& times) const {
    own.clear_values();
    own.open(false);
    times.read.push_back(mean_over_ranks(timed([&] { own.read(); }), ranks_));
    own.close();
    return own.values_are(seed);
  }

  // The limit: system calls that no preload sees, between host memory and the same file; and where the values
  // are on a device, the driver's own copies from and to pinned memory.
  void raw(fpp::Transfers& own, std::uint64_t seed, std::uint64_t size, Times& times) const {
    own.fill_host(seed);
    prepare(own, size);
    own.raw_open(true);
    times.raw_write.push_back(mean_over_ranks(timed([&] { own.raw_write(); }), ranks_));
    own.raw_close();
    own.raw_open(false);
    times.raw_read.push_back(mean_over_ranks(timed([&] { own.raw_read(); }), ranks_));
    own.raw_close();
    if (s_.memory != "device") return;
    times.copy_out.push_back(mean_over_ranks(timed([&] { own.copy(Direction::read); }), ranks_));
    times.copy_in.push_back(mean_over_ranks(timed([&] { own.copy(Direction::write); }), ranks_));
  }

  void report(Json& json, std::uint64_t size, const Times& times) const {
    const double mib = static_cast<double>(size) * ranks_ / (1 << 20);
    json.object().put("bytes_per_rank", size);
    put(json, "write_mib_s", mib, times.write);
    put(json, "write_with_close_mib_s", mib, times.write_close);
    put(json, "read_mib_s", mib, times.read);
    json.object("limit");
    put(json, "system_write_mib_s", mib, times.raw_write);
    put(json, "system_read_mib_s", mib, times.raw_read);
    double write = spread(times.raw_write).median, read = spread(times.raw_read).median;
    if (!times.copy_out.empty()) {
      put(json, "pinned_from_device_mib_s", mib, times.copy_out);
      put(json, "pinned_to_device_mib_s", mib, times.copy_in);
      write = std::max(write, spread(times.copy_out).median);
      read = std::max(read, spread(times.copy_in).median);
    }
    json.put("write_mib_s", mib / write).put("read_mib_s", mib / read).close();
    json.put("write_fraction_of_limit", write / spread(times.write).median);
    json.put("read_fraction_of_limit", read / spread(times.read).median).close();
  }

  const Settings& s_;
  int rank_, ranks_, device_;
};

int rank_on_node() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int rank = 0;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_free(&node);
  return rank;
}

// Why this cannot be measured here, on all ranks alike; empty if it can.
std::string obstacle(const Settings& s, int& device, int rank) {
  std::string own = fpp::preload_problem(s);
  if (own.empty() && s.memory == "device") {
    try {
      device = fpp::device_of(s, rank_on_node(), cuda_devices(s.driver));
    } catch (const NoDevice& problem) {
      own = problem.what();
    }
  }
  // Of the lowest rank that has one.
  int first = own.empty() ? 1 << 30 : rank, all = 0;
  MPI_Allreduce(&first, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (all == 1 << 30) return "";
  char text[512] = "";
  std::snprintf(text, sizeof text, "%s", own.c_str());
  MPI_Bcast(text, sizeof text, MPI_CHAR, all, MPI_COMM_WORLD);
  return text;
}

int run(const Settings& s, int rank, int ranks) {
  Json json("fpp");
  json.put("mpi", mpi_version()).put("ranks", ranks).put("language", s.language).put("method", s.method);
  json.put("buffer_bytes", s.buffer).put("fsync", s.fsync).put("memory", s.memory);
  if (s.memory == "device") json.put("mapping", s.mapping).put("ranks_per_device", s.per_device);
  json.put("repetitions", s.repetitions).put("preload", fpp::preloaded());
  int device = 0;
  const std::string problem = obstacle(s, device, rank);
  bool right = true;
  if (problem.empty() && s.memory == "device") {
    std::vector<int> devices(static_cast<std::size_t>(ranks));
    MPI_Gather(&device, 1, MPI_INT, devices.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    json.put("devices", cuda_devices(s.driver));
    json.list("device_of_rank");
    for (const int one : devices) json.put("", one);
    json.close();
  }
  if (problem.empty()) {
    Run all(s, rank, ranks, device);
    json.list("sizes");
    for (const std::uint64_t size : s.sizes) right = all.measure(size, json) && right;
    json.close().put("verified", right);
  } else {
    json.put("problem", problem);
  }
  if (rank == 0) std::fputs(json.finish().c_str(), stdout);
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Settings early;
  try {
    parse_arguments(argc, argv, options(early));
    fpp::start_again(early, argv);
  } catch (const std::exception&) {  // said by rank 0, below
  }
  return mpi_main("fpp", argc, argv, [](int count, char** words, int rank, int ranks) {
    Settings s;
    const std::vector<Option> table = options(s);
    parse_arguments(count, words, table);
    if (s.method == "fresh" && s.memory == "host")
      throw BadUsage("--method fresh is for values in device memory (--memory device)");
    if (s.help) {
      if (rank == 0)
        std::printf("fpp: one file per process, written and read back (JSON)\n%s", describe(table).c_str());
      return 0;
    }
    return run(s, rank, ranks);
  });
}
