// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Measures the rank's part of a write, without the agent's part. `call` writes one record per call,
// `file_call` adds the file's choice of path, and `batch` writes many pieces per call.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/file/file.hpp"
#include "client/file/testing/null_process.hpp"

namespace millrace::client {
namespace {

void call(benchmark::State& state, bool serialized) {
  testing::NullAgent agent(serialized);
  const std::vector<std::byte> data(static_cast<std::size_t>(state.range(0)));
  Tally tally;
  std::uint64_t offset = 0;
  std::uint64_t since = 0;
  for (auto _ : state) {
    const Piece piece{offset, data.data(), data.size()};
    benchmark::DoNotOptimize(agent.session->write(0, {&piece, 1}, 32 * KiB, tally));
    offset += data.size();
    if ((since += data.size()) >= 256 * KiB) {
      agent.take_all();
      since = 0;
    }
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void file_call(benchmark::State& state) {
  testing::NullAgent agent;
  testing::NullProcess process(agent);
  const Result<Fd> target = transport::make_memory("target", 4096);
  OpenRequest request;
  request.path = "/proc/self/fd/" + std::to_string(target->get());
  const std::unique_ptr<File> file = open(std::move(request), process);
  const std::vector<std::byte> data(static_cast<std::size_t>(state.range(0)));
  std::uint64_t offset = 0;
  std::uint64_t since = 0;
  for (auto _ : state) {
    if (!file->enter_pipeline({data.size(), 1, 1})) return state.SkipWithError("past the pipeline");
    const Piece piece{offset, data.data(), data.size()};
    benchmark::DoNotOptimize(file->write({&piece, 1}));
    offset += data.size();
    if ((since += data.size()) >= 256 * KiB) {
      agent.take_all();
      since = 0;
    }
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void batch(benchmark::State& state) {
  testing::NullAgent agent;
  const auto size = static_cast<std::uint64_t>(state.range(0));
  const std::uint64_t pieces_per_call = 128 * KiB / size;
  const std::vector<std::byte> data(size * pieces_per_call);
  std::vector<Piece> pieces;
  pieces.reserve(pieces_per_call);
  for (std::uint64_t i = 0; i < pieces_per_call; ++i)
    pieces.push_back({2 * i * size, data.data() + i * size, size});
  Tally tally;
  for (auto _ : state) {
    benchmark::DoNotOptimize(agent.session->write(0, pieces, 32 * KiB, tally));
    agent.take_all();
  }
  const auto records = static_cast<double>(state.iterations()) * static_cast<double>(pieces_per_call);
  state.counters["per_record"] =
      benchmark::Counter(records, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

BENCHMARK_CAPTURE(call, serialized, true)->Arg(64)->Arg(256)->Arg(1024)->Arg(4096)->Arg(32768);
BENCHMARK_CAPTURE(call, thread_multiple, false)->Arg(256);
BENCHMARK(file_call)->Arg(64)->Arg(256)->Arg(1024)->Arg(4096);
BENCHMARK(batch)->Arg(12)->Arg(40)->Arg(64)->Arg(128)->Arg(256)->Arg(512)->Arg(1024)->Arg(4096);

}  // namespace
}  // namespace millrace::client

BENCHMARK_MAIN();
