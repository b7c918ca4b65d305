// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/costs/stint.hpp"

#include "base/settings.hpp"

namespace millrace::client {

namespace {

// The time of a file with fewer bytes of a rank says nothing.
constexpr std::uint64_t least_bytes = 2 * MiB;

// Two threads of a rank that write at once may lose an addition. The result is only a wrong guess, and the
// addition needs no lock.
void add(std::atomic<std::uint64_t>& sum, std::uint64_t more) {
  sum.store(sum.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace

void Stint::moved(bool pipeline, std::uint64_t bytes, const Expected& expected, bool nonblocking) {
  Way& way = pipeline ? pipeline_ : direct_;
  add(way.bytes, bytes);
  add(way.expected_ps, pipeline ? expected.pipeline_ps : expected.direct_ps);
  if (nonblocking && !pipeline) spoil();
}

Ways Stint::end(std::uint64_t through_ns) const {
  const std::uint64_t direct = direct_.bytes.load(), pipeline = pipeline_.bytes.load();
  const bool through = pipeline > direct;
  const std::uint64_t most = through ? pipeline : direct, rest = through ? direct : pipeline;
  Ways ways;
  if (spoilt_.load() || most < least_bytes || rest > most / 8) return ways;
  const Way& way = through ? pipeline_ : direct_;
  Observed& observed = through ? ways.pipeline : ways.direct;
  observed.took_ns = through ? through_ns : took_ns_.load();
  observed.expected_ns = way.expected_ps.load() / 1000;
  return ways;
}

void Observations::add(std::uint64_t file_system, const Ways& ways) {
  const std::lock_guard lock(mutex_);
  if (all_.file_system != file_system) all_ = {file_system, {}};
  const auto more = [](Observed& sum, const Observed& one) {
    sum.took_ns += one.took_ns;
    sum.expected_ns += one.expected_ns;
  };
  more(all_.ways.direct, ways.direct);
  more(all_.ways.pipeline, ways.pipeline);
}

}  // namespace millrace::client
