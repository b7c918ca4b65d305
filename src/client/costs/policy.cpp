// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/costs/policy.hpp"

#include <algorithm>
#include <utility>

namespace millrace::client {

namespace {

// The pipeline uses memory and processors that the program may need. So it has to save at least this part of
// its own time before a file enters it.
constexpr std::uint64_t least_gain = 16;

constexpr double least_factor = 64, greatest_factor = 8192;

std::uint64_t saving(const Expected& expected) {
  return expected.direct_ps > expected.pipeline_ps ? expected.direct_ps - expected.pipeline_ps : 0;
}

}  // namespace

Choice choose(const Settings& process, const FileSettings& file, const Transfer& transfer,
              const Costs& costs) {
  const Expected both = expected(costs, transfer);
  const std::uint64_t mean = transfer.bytes / std::max<std::uint64_t>(transfer.pieces, 1);
  const auto asked_for = [&](bool pipeline, Reason why, std::uint64_t bound = 0) {
    return Choice{pipeline, {why, mean, mean, bound}, false, both};
  };
  if (file.durability == Durability::node) return asked_for(true, Reason::strategy_chosen);
  // The pipeline would cut a large piece into records and join them again. On one node, such pieces need no
  // sorting.
  const bool sorts_nothing =
      file.strategy == Strategy::sort && mean >= file.record_max_bytes && !transfer.routed;
  if (file.strategy != Strategy::automatic && !sorts_nothing) return asked_for(true, Reason::strategy_chosen);
  if (const std::uint64_t above = process.direct_above_bytes; above != 0) {
    return asked_for(mean < above, Reason::direct_above, above);
  }
  // A file that is in the pipeline stays there for all but clear gains.
  const auto is_slower = [&](std::uint64_t direct_ps) {
    return transfer.entered ? direct_ps + direct_ps / least_gain > both.pipeline_ps
                            : direct_ps > both.pipeline_ps + both.pipeline_ps / least_gain;
  };
  std::uint64_t direct_ps = both.direct_ps;
  if (!is_slower(direct_ps)) direct_ps += transfer.trips * costs.trip_ps;
  const bool faster = is_slower(direct_ps);
  const Reason why = faster ? Reason::pipeline_faster : Reason::library_as_fast;
  return {faster, {why, mean, direct_ps / 1000, both.pipeline_ps / 1000}, true, both};
}

std::uint64_t break_even(const Costs& costs, bool made_stable) {
  const auto pays = [&](std::uint64_t bytes) {
    return choose({}, {}, {.bytes = bytes, .pieces = 1, .calls = 1, .made_stable = made_stable}, costs)
        .pipeline;
  };
  if (!pays(1)) return 1;
  std::uint64_t below = 1, from = 2;  // the first pays, the second does not
  while (from < GiB && pays(from)) below = std::exchange(from, 2 * from);
  if (pays(from)) return from;
  while (from - below > 1) {
    const std::uint64_t middle = below + (from - below) / 2;
    (pays(middle) ? below : from) = middle;
  }
  return from;
}

std::uint64_t Account::cost_ps(const Entrance& entrance) const {
  // To register a file takes about as long as three questions.
  const std::uint64_t start = costs_.start_ps + costs_.start_ps / 1024 * entrance.crowding;
  const std::uint64_t share = start / std::max<std::uint32_t>(entrance.members, 1);
  return entrance.agent_runs ? std::min(share, 3 * costs_.trip_ps) : share;
}

bool Account::pays_to_enter(const Expected& expected, const Entrance& entrance) {
  const std::uint64_t missed = missed_ps_.load(std::memory_order_relaxed) + saving(expected);
  missed_ps_.store(missed, std::memory_order_relaxed);
  const bool pays = missed >= cost_ps(entrance);
  if (!pays) unasked_.store(true, std::memory_order_relaxed);
  return pays;
}

bool Account::pays_alone(const Expected& expected, const Entrance& entrance) const {
  return saving(expected) >= cost_ps(entrance);
}

void Account::note_question() {
  if (!unasked_.load(std::memory_order_relaxed)) return;
  unasked_.store(false, std::memory_order_relaxed);
  const std::uint64_t missed = missed_ps_.load(std::memory_order_relaxed);
  missed_ps_.store(missed - std::min(missed, costs_.trip_ps), std::memory_order_relaxed);
}

void Account::library_took(std::uint64_t ns) {
  constexpr std::uint64_t assumed = 16;  // the estimate before the first call counts as so many calls
  const std::uint64_t calls_ps = calls_ps_.exchange(0, std::memory_order_relaxed);
  if (calls_ps == 0) return;
  const double known = library_.load(std::memory_order_relaxed);
  const double taken =
      std::min(1024.0 * 1000 * static_cast<double>(ns) / static_cast<double>(calls_ps), 2 * known);
  const std::uint64_t calls = measured_.fetch_add(1, std::memory_order_relaxed) + assumed;
  const double mean = known + (taken - known) / static_cast<double>(std::min<std::uint64_t>(calls, 256));
  library_.store(std::clamp(mean, least_factor, greatest_factor), std::memory_order_relaxed);
}

void Account::agent_worked(std::uint64_t bytes, std::uint64_t ns) {
  constexpr double assumed = MiB;  // the costs count as so many bytes
  const double each_ps = static_cast<double>(costs_.byte_ps + costs_.through_byte_ps);
  const double all = static_cast<double>(bytes) + assumed;
  const double mean = 1024 * (1000 * static_cast<double>(ns) / each_ps + assumed) / all;
  worked_.store(static_cast<std::uint64_t>(std::clamp(mean, least_factor, greatest_factor)));
}

Ground Account::too_little(std::uint64_t piece_bytes, const Entrance& entrance) const {
  return {Reason::too_little_so_far, piece_bytes, missed_ps_.load(std::memory_order_relaxed) / 1000,
          cost_ps(entrance) / 1000};
}

}  // namespace millrace::client
