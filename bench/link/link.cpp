// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// MPI's rates between two ranks, and between all pairs at once: ping-pong (JSON).
#include <algorithm>
#include <cstdio>
#include <vector>

#include "common/json.hpp"
#include "common/mpi.hpp"

namespace {

using namespace bench;

struct Settings {
  std::vector<std::uint64_t> sizes = {8, 1 << 10, 64 << 10, 1 << 20, 4 << 20, 16 << 20};
  long repetitions = 5;
  std::uint64_t budget = 64 << 20;
  bool help = false;
};

std::vector<Option> options(Settings& s) {
  return {
      {'s', "sizes", "SIZE,...", "bytes of a message (8,1k,64k,1m,4m,16m)",
       [&](auto& v) {
         s.sizes = parse_sizes(v);
         for (const std::uint64_t size : s.sizes) {
           if (size == 0 || size > (1u << 30)) throw BadUsage("sizes are from 1 to 1g");
         }
       }},
      {'b', "bytes", "SIZE", "bytes per run, in 2 to 1,000 round trips (64m)",
       [&](auto& v) { s.budget = parse_size(v); }},
      {'i', "repetitions", "N", "runs of each size, after one that is not counted (5)",
       [&](auto& v) { s.repetitions = parse_number(v, 1, 1000); }},
      {'h', "help", "", "this text", [&](auto&) { s.help = true; }},
  };
}

struct Result {
  std::vector<double> one_way_us, mib_s;
};

// Rank r of the first half and rank r + half send a message to and fro. Seconds of the slowest of `pairs`
// pairs.
double ping_pong(std::vector<unsigned char>& data, int size, long trips, int rank, int half, int pairs) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = now_s();
  const int partner = rank < half ? rank + half : rank - half;
  const int pair = std::min(rank, partner);
  if (pair < pairs && rank < 2 * half) {
    for (long i = 0; i < trips; ++i) {
      if (rank < half) {
        check_mpi(MPI_Send(data.data(), size, MPI_BYTE, partner, 0, MPI_COMM_WORLD), "MPI_Send");
        check_mpi(MPI_Recv(data.data(), size, MPI_BYTE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                  "MPI_Recv");
      } else {
        check_mpi(MPI_Recv(data.data(), size, MPI_BYTE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                  "MPI_Recv");
        check_mpi(MPI_Send(data.data(), size, MPI_BYTE, partner, 0, MPI_COMM_WORLD), "MPI_Send");
      }
    }
    return max_over_ranks({now_s() - start})[0];
  }
  return max_over_ranks({0})[0];
}

// The first half of the ranks holds the content, the other half gets it from them.
bool arrived(std::vector<unsigned char>& data, std::uint64_t seed, int rank, int half, int pairs) {
  const bool takes_part = rank < pairs || (rank >= half && rank < half + pairs);
  const bool right = !takes_part || mismatch(data.data(), data.size(), 0, seed) == no_mismatch;
  return sum_over_ranks(right ? 0 : 1) == 0;
}

void put(Json& json, const char* name, const std::vector<double>& values) {
  const Spread s = spread(values);
  json.object(name).put("min", s.min).put("median", s.median).put("max", s.max).close();
}

int run(int argc, char** argv, int rank, int ranks) {
  Settings s;
  const std::vector<Option> table = options(s);
  parse_arguments(argc, argv, table);
  if (s.help) {
    if (rank == 0) std::printf("link: ping-pong by MPI (JSON)\n%s", describe(table).c_str());
    return 0;
  }
  if (ranks < 2) throw BadUsage("at least two ranks are needed, and there is one");
  const int half = ranks / 2;
  Json json("link");
  json.put("mpi", mpi_version()).put("ranks", ranks).put("repetitions", s.repetitions).list("sizes");
  bool right = true;
  std::uint64_t seed = 0;
  for (const std::uint64_t size : s.sizes) {
    std::vector<unsigned char> data(size);
    const long trips = std::clamp(static_cast<long>(s.budget / size / 2), 2L, 1000L);
    json.object().put("bytes", size).put("round_trips", trips);
    for (const int pairs : {1, half}) {
      Result result;
      for (long i = 0; i <= s.repetitions; ++i) {
        ++seed;
        if (rank < half) fill(data.data(), size, 0, seed);
        const double seconds = ping_pong(data, static_cast<int>(size), trips, rank, half, pairs);
        right = arrived(data, seed, rank, half, pairs) && right;
        if (i == 0) continue;
        const double messages = 2.0 * static_cast<double>(trips);
        result.one_way_us.push_back(seconds / messages * 1e6);
        result.mib_s.push_back(pairs * messages * static_cast<double>(size) / seconds / (1 << 20));
      }
      json.object(pairs == 1 ? "one_pair" : "all_pairs").put("pairs", pairs);
      put(json, "one_way_us", result.one_way_us);
      put(json, "mib_s", result.mib_s);
      json.close();
      if (half == 1) break;
    }
    json.close();
  }
  json.close().put("verified", right);
  if (rank == 0) std::fputs(json.finish().c_str(), stdout);
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return bench::mpi_main("link", argc, argv, run); }
