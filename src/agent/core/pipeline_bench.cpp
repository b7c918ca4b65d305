// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// The agent's part of the cost of a record: Core over a storage that completes each request at once and moves
// no bytes. `ns_per_record` is CPU time. `allocations` counts operator new per record: chunks and writes
// allocate, records do not.

#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <new>
#include <random>
#include <vector>

#include "agent/core/core.hpp"
#include "base/checksum.hpp"

namespace {

std::uint64_t allocations = 0;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace millrace::agent {
namespace {

class NullStorage final : public io::Storage {
 public:
  Result<io::Handle> adopt(Fd, bool) override { return io::Handle{next_++}; }
  void release(io::Handle) override {}
  Result<std::uint64_t> size(io::Handle) override { return Code::unsupported; }
  Result<FileIdentity> identify(const Fd&, bool) override { return FileIdentity(); }
  Result<FileState> state_of(const Fd&) override { return FileState(); }
  void submit(io::Request request) override {
    std::uint64_t bytes = 0;
    for (const iovec& part : request.data) bytes += part.iov_len;
    done_.push_back({request.token, {}, bytes});
  }
  void kick() override {}
  void poll(std::vector<io::Completion>& out) override {
    out.insert(out.end(), done_.begin(), done_.end());
    done_.clear();
  }
  int event_fd() const override { return -1; }

 private:
  io::Handle next_ = 0;
  std::vector<io::Completion> done_;
};

constexpr std::uint64_t record_bytes = 256;
constexpr std::size_t batch = 64;  // records that the agent takes from one ring before it looks at the next

// The offset of a record, and its rank.
struct Position {
  SenderId sender;
  std::uint64_t offset;
};

struct Sequential {
  Position operator()(std::uint64_t i) const { return {0, i * record_bytes}; }
};
struct Strided {  // rank r writes records r, r + ranks, ...; batches of each rank in turn
  std::uint64_t ranks;
  Position operator()(std::uint64_t i) const {
    const std::uint64_t round = i / (batch * ranks), in = i % (batch * ranks);
    const std::uint64_t rank = in / batch, nth = round * batch + in % batch;
    return {static_cast<SenderId>(rank), (nth * ranks + rank) * record_bytes};
  }
};

struct Bench {
  NullStorage storage;
  Core core{storage, "/tmp"};
  FileSlot slot = 0;

  Bench(Strategy strategy, std::uint64_t ranks) {
    transport::Register registration{};
    registration.settings.strategy = strategy;
    const Fd file(::memfd_create("bench", 0));
    for (SenderId rank = 0; rank < ranks; ++rank) {
      slot = *core.open(rank, Fd(::dup(file.get())), registration);
    }
  }
};

std::uint64_t cpu_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

template <class Pattern>
void drive(benchmark::State& state, Bench& bench, Pattern pattern, bool verify) {
  // As in a ring, the bytes come from memory that stays in the second-level cache.
  std::vector<std::byte> ring(1 * MiB);
  for (std::size_t b = 0; b < ring.size(); ++b) ring[b] = static_cast<std::byte>(b * 31 >> 3);
  std::vector<std::uint64_t> sums(ring.size() / record_bytes);
  for (std::size_t r = 0; r < sums.size(); ++r) sums[r] = checksum(&ring[r * record_bytes], record_bytes);
  std::uint64_t i = 0, now = 1, refused = 0;
  const auto round = [&] {
    for (std::size_t n = 0; n < batch; ++n, ++i) {
      while (!bench.core.ready()) bench.core.advance(++now), ++refused;
      const std::size_t at = i % sums.size();
      const std::byte* data = &ring[at * record_bytes];
      if (verify && checksum(data, record_bytes) != sums[at]) std::abort();
      const Position place = pattern(i);
      bench.core.write(place.sender, bench.slot, place.offset, {data, record_bytes});
    }
    if (i % (16 * batch) == 0) bench.core.advance(++now);
  };
  for (int warm = 0; warm < 20000; ++warm) round();
  const std::uint64_t before = allocations, first = i, start = cpu_ns();
  for (auto _ : state) round();
  const double records = static_cast<double>(i - first);
  state.counters["ns_per_record"] = static_cast<double>(cpu_ns() - start) / records;
  state.counters["allocations"] = static_cast<double>(allocations - before) / records;
  state.SetItemsProcessed(static_cast<std::int64_t>(i - first));
}

void sequential(benchmark::State& state) {
  Bench bench(static_cast<Strategy>(state.range(0)), 1);
  drive(state, bench, Sequential{}, state.range(1) != 0);
}

void strided(benchmark::State& state) {
  Bench bench(static_cast<Strategy>(state.range(0)), static_cast<std::uint64_t>(state.range(2)));
  drive(state, bench, Strided{static_cast<std::uint64_t>(state.range(2))}, state.range(1) != 0);
}

// Writes all records of 64 MiB in a random order, and repeats that.
void random_64mib(benchmark::State& state) {
  Bench bench(static_cast<Strategy>(state.range(0)), 1);
  std::vector<std::uint32_t> order(64 * MiB / record_bytes);
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  drive(
      state, bench,
      [&](std::uint64_t i) {
        return Position{0, std::uint64_t{order[i % order.size()]} * record_bytes};
      },
      state.range(1) != 0);
}

// Bundles of small records, as a rank sends them. `ranks` interleave records of `bytes` bytes; the agent
// takes a bundle of each rank in turn.
void bundles(benchmark::State& state) {
  const auto bytes = static_cast<std::uint64_t>(state.range(0));
  const auto ranks = static_cast<std::uint64_t>(state.range(1));
  Bench bench(Strategy::automatic, ranks);
  const std::vector<std::byte> data(bytes);
  std::vector<std::byte> payload(transport::bundle_max_bytes);
  transport::BundleWriter bundle(payload.data(), payload.size());
  for (std::size_t n = 0; n < batch; ++n) bundle.add(n * ranks * bytes, data.data(), bytes);
  std::uint64_t round = 0, now = 1;
  const auto take = [&] {
    const std::uint64_t rank = round % ranks, nth = round / ranks * batch;
    transport::Unbundler at;
    const std::uint64_t offset = (nth * ranks + rank) * bytes;
    while (bench.core
               .write_bundle(static_cast<SenderId>(rank), bench.slot, offset,
                             std::span(payload).first(bundle.bytes()), at)
               .end != Core::Bundled::BundleEnd::all)
      bench.core.advance(++now);
    if (++round % 64 == 0) bench.core.advance(++now);
  };
  for (int warm = 0; warm < 20000; ++warm) take();
  const std::uint64_t start = cpu_ns(), first = round;
  for (auto _ : state) take();
  state.counters["ns_per_record"] =
      static_cast<double>(cpu_ns() - start) / static_cast<double>((round - first) * batch);
}

const std::vector<std::int64_t> strategies{static_cast<int>(Strategy::automatic),
                                           static_cast<int>(Strategy::sort),
                                           static_cast<int>(Strategy::immediate)};

BENCHMARK(sequential)->ArgNames({"strategy", "verify"})->ArgsProduct({strategies, {0, 1}});
BENCHMARK(strided)->ArgNames({"strategy", "verify", "ranks"})->ArgsProduct({strategies, {0, 1}, {4, 16}});
BENCHMARK(random_64mib)->ArgNames({"strategy", "verify"})->ArgsProduct({{0, 1}, {0, 1}});
BENCHMARK(bundles)->ArgNames({"bytes", "ranks"})->ArgsProduct({{12, 40, 256, 1024}, {4}});

}  // namespace
}  // namespace millrace::agent

BENCHMARK_MAIN();
