// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// Bandwidth and latency between two processes of a node, for every way that there is (JSON).
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "common/args.hpp"
#include "common/json.hpp"
#include "common/mpi.hpp"
#include "ipc/connection.hpp"

namespace {

using namespace bench;
using ipc::Connection;
using ipc::Method;

constexpr std::array methods{
    Method{"pipe", ipc::open_pipe},
    Method{"fifo", ipc::open_fifo},
    Method{"unix-stream", ipc::open_unix_stream},
    Method{"unix-datagram", ipc::open_unix_datagram},
    Method{"tcp", ipc::open_tcp},
    Method{"posix-queue", ipc::open_posix_queue},
    Method{"sysv-queue", ipc::open_sysv_queue},
    Method{"posix-memory", ipc::open_posix_memory},
    Method{"sysv-memory", ipc::open_sysv_memory},
    Method{"mapped-file", ipc::open_mapped_file},
    Method{"vm-readv", ipc::open_vm_read},
    Method{"vm-writev", ipc::open_vm_write},
    Method{"mpi", ipc::open_mpi},
};

struct Settings {
  std::vector<std::string> wanted;
  std::vector<std::uint64_t> sizes;
  std::uint64_t budget = 64 << 20;  // bytes per run, in at least two messages
  long repetitions = 5;
  bool help = false;
};

std::string names() {
  std::string all;
  for (const Method& one : methods) all += (all.empty() ? "" : ", ") + std::string(one.name);
  return all;
}

void choose_methods(Settings& s, const std::string& text) {
  s.wanted = split(text);
  for (const std::string& name : s.wanted) {
    if (std::ranges::find(methods, name, &Method::name) == methods.end())
      throw BadUsage("'" + name + "' is none of " + names());
  }
}

void choose_sizes(Settings& s, const std::string& text) {
  s.sizes = parse_sizes(text);
  for (const std::uint64_t size : s.sizes) {
    if (size == 0 || size > (1u << 30)) throw BadUsage("sizes are from 1 to 1g");
  }
}

std::vector<Option> options(Settings& s) {
  return {
      {'m', "methods", "NAME,...", "which: " + names() + " (all)", [&](auto& v) { choose_methods(s, v); }},
      {'s', "sizes", "SIZE,...", "bytes per message (8 to 64m in steps of 8)",
       [&](auto& v) { choose_sizes(s, v); }},
      {'b', "bytes", "SIZE", "bytes per run, in 2 to 5,000 messages (64m)",
       [&](auto& v) { s.budget = parse_size(v); }},
      {'i', "repetitions", "N", "runs of each (5)",
       [&](auto& v) { s.repetitions = parse_number(v, 1, 1000); }},
      {'h', "help", "", "this text", [&](auto&) { s.help = true; }},
  };
}

class Ranks final : public ipc::Peer {
 public:
  explicit Ranks(int rank) : rank_(rank) {
    char pattern[] = "/tmp/millrace-ipc-XXXXXX";
    std::string made = rank == 0 && ::mkdtemp(pattern) != nullptr ? pattern : "";
    const std::string told = exchange(made);
    folder_ = rank == 0 ? made : told;
    if (folder_.empty()) throw std::runtime_error("no folder could be made in /tmp");
  }
  ~Ranks() override {
    std::error_code ignored;
    if (rank_ == 0) std::filesystem::remove_all(folder_, ignored);
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int index() const override { return rank_; }
  std::string folder() const override { return folder_; }
  std::string exchange(const std::string& own) override {
    std::array<char, 256> mine{}, theirs{};
    mine[0] = static_cast<char>(own.size());
    std::memcpy(mine.data() + 1, own.data(), std::min(own.size(), mine.size() - 1));
    MPI_Sendrecv(mine.data(), mine.size(), MPI_CHAR, 1 - rank_, 1, theirs.data(), theirs.size(), MPI_CHAR,
                 1 - rank_, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return std::string(theirs.data() + 1, static_cast<unsigned char>(theirs[0]));
  }

 private:
  int rank_;
  std::string folder_;
};

// The state of one rank over sizes, directions and repetitions.
struct Bench {
  const Settings& settings;
  int rank;
  std::vector<unsigned char> data, other;
  bool verified = true;

  // Seconds for `count` messages from `sender` to the other rank, as the sender sees them: the last one has
  // arrived when a byte comes back.
  double one_way(Connection& connection, std::size_t size, long count, int sender, std::uint64_t seed) {
    char done = 1;
    if (rank == sender) {
      fill(data.data(), size, 0, seed);
      MPI_Barrier(MPI_COMM_WORLD);
      const double start = now_s();
      for (long i = 0; i < count; ++i) connection.send(data.data(), size);
      connection.receive(&done, 1);
      return now_s() - start;
    }
    std::fill_n(data.begin(), size, std::uint8_t{0});
    MPI_Barrier(MPI_COMM_WORLD);
    for (long i = 0; i < count; ++i) connection.receive(data.data(), size);
    connection.send(&done, 1);
    verified = verified && mismatch(data.data(), size, 0, seed) == no_mismatch;
    return 0;
  }

  double round_trip(Connection& connection, std::size_t size, long count) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = now_s();
    for (long i = 0; i < count; ++i) {
      if (rank == 0) connection.send(data.data(), size);
      connection.receive(data.data(), size);
      if (rank == 1) connection.send(data.data(), size);
    }
    return (now_s() - start) / static_cast<double>(count);
  }

  // The limit: one copy, by rank 0 alone.
  double copy(std::size_t size, long count) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = now_s();
    for (long i = 0; rank == 0 && i < count; ++i) {
      std::memcpy(other.data(), data.data(), size);
      asm volatile("" : : "r"(other.data()) : "memory");
    }
    const double seconds = now_s() - start;
    MPI_Barrier(MPI_COMM_WORLD);
    return seconds;
  }
};

double mib_s(std::size_t size, long count, double seconds) {
  return static_cast<double>(size) * static_cast<double>(count) / seconds / (1 << 20);
}

void put(Json& json, const char* name, const std::vector<double>& values) {
  const Spread s = spread(values);
  json.object(name).put("min", s.min).put("median", s.median).put("max", s.max).close();
}

void measure(Bench& bench, Connection& connection, Json& json) {
  json.list("sizes");
  for (const std::uint64_t size : bench.settings.sizes) {
    const long count = std::clamp(static_cast<long>(bench.settings.budget / size), 2L, 5'000L);
    std::vector<double> there, back, copies, trips;
    for (long i = 0; i <= bench.settings.repetitions; ++i) {
      const auto seed = static_cast<std::uint64_t>(i);
      std::array times{bench.one_way(connection, size, count, 0, seed),
                       bench.one_way(connection, size, count, 1, seed),
                       bench.round_trip(connection, size, std::max(count / 10, 2L)), bench.copy(size, count)};
      MPI_Bcast(&times[1], 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
      if (i == 0) continue;  // memory and names are warm from here on
      there.push_back(mib_s(size, count, times[0]));
      back.push_back(mib_s(size, count, times[1]));
      trips.push_back(times[2] / 2 * 1e6);
      copies.push_back(mib_s(size, count, times[3]));
    }
    json.object().put("bytes", size).put("messages", count);
    put(json, "write_mib_s", there);
    put(json, "read_mib_s", back);
    put(json, "latency_us", trips);
    put(json, "limit_mib_s", copies);
    const double best = std::max(spread(there).median, spread(back).median);
    json.put("fraction_of_limit", best / spread(copies).median).close();
  }
  json.close();
}

int run(const Settings& settings, int rank) {
  const std::uint64_t largest = *std::ranges::max_element(settings.sizes);
  Bench bench{settings, rank, std::vector<unsigned char>(largest), std::vector<unsigned char>(largest)};
  Ranks peer(rank);
  Json json("ipc");
  json.put("mpi", mpi_version()).put("repetitions", settings.repetitions).object("methods");
  for (const Method& method : methods) {
    if (!settings.wanted.empty() && std::ranges::find(settings.wanted, method.name) == settings.wanted.end())
      continue;
    json.object(method.name);
    try {
      const std::unique_ptr<Connection> connection = method.open(peer);
      measure(bench, *connection, json);
      MPI_Barrier(MPI_COMM_WORLD);  // nobody hangs up while the other one reads
    } catch (const ipc::Unavailable& reason) {
      json.put("problem", reason.what());
    }
    json.close();
  }
  const bool verified = sum_over_ranks(bench.verified ? 0 : 1) == 0;
  json.close().put("verified", verified);
  if (rank == 0) std::fputs(json.finish().c_str(), stdout);
  return verified ? 0 : 1;
}

int start(int argc, char** argv, int rank, int ranks) {
  Settings settings;
  for (std::uint64_t size = 8; size <= (64u << 20); size *= 8) settings.sizes.push_back(size);
  if (settings.sizes.back() != (64u << 20)) settings.sizes.push_back(64u << 20);
  const std::vector<Option> table = options(settings);
  parse_arguments(argc, argv, table);
  if (settings.help) {
    if (rank == 0)
      std::printf("ipc: what the ways between two processes of a node give (JSON); start 2 ranks\n%s",
                  describe(table).c_str());
    return 0;
  }
  if (ranks != 2) throw BadUsage("it takes 2 ranks on one node, not " + std::to_string(ranks));
  return run(settings, rank);
}

}  // namespace

int main(int argc, char** argv) { return mpi_main("ipc", argc, argv, start); }
