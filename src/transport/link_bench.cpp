// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of a link without its socket. One end puts records into batches and seals them. The other
// end verifies the batches and takes the records. The copy of the bytes between the ends counts too, as with
// a socket.
#include <benchmark/benchmark.h>

#include "transport/testing/link_rig.hpp"

namespace millrace::transport {
namespace {

void put_and_verify(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const auto batch_bytes = static_cast<std::size_t>(state.range(1));
  testing::LinkPair pair;
  pair.client = Link::connecting(testing::test_key(), testing::test_introduction(),
                                 {max_link_record_bytes, batch_bytes});
  pair.shake_hands();
  const testing::Bytes payload = testing::pattern(size, 1);
  const FrameHeader header = testing::write_header(0, payload);
  const std::size_t round = std::max(batch_bytes / record_bytes(size), std::size_t{1});
  std::int64_t records = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < round; ++i) pair.client.put(header, payload);
    pair.client.flush();
    for (std::span out = pair.client.outgoing(); !out.empty(); out = pair.client.outgoing())
      pair.client.sent(testing::feed(pair.server, out));
    FrameHeader frame;
    const std::byte* at = nullptr;
    while (pair.server.next(frame, at)) {
      benchmark::DoNotOptimize(at);
      pair.server.consume();
      ++records;
    }
  }
  if (records != static_cast<std::int64_t>(round) * state.iterations())
    state.SkipWithError(pair.server.reason());
  state.SetBytesProcessed(records * state.range(0));
  state.counters["per_record"] = benchmark::Counter(
      static_cast<double>(records), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

BENCHMARK(put_and_verify)->ArgsProduct({{256, 4096, 32768}, {64 << 10, 256 << 10, 1 << 20}});

// Measures only the computation of the tag, at one end.
void seal(benchmark::State& state) {
  BatchSeal seal(testing::test_key());
  testing::Bytes batch(sizeof(BatchHeader) + static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) seal.sign(batch);
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

BENCHMARK(seal)->Arg(1 << 10)->Arg(64 << 10)->Arg(256 << 10)->Arg(1 << 20);

void handshake(benchmark::State& state) {
  for (auto _ : state) {
    testing::LinkPair pair;
    pair.shake_hands();
    benchmark::DoNotOptimize(pair.server.established());
  }
}

BENCHMARK(handshake);

}  // namespace
}  // namespace millrace::transport

BENCHMARK_MAIN();
