// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/costs/costs.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace millrace::client {

namespace {

struct Name {
  std::string_view name;
  std::uint64_t Costs::*member;
  std::uint64_t low, high;
};

constexpr std::uint64_t second_ps = 1'000'000'000'000;

constexpr std::array<Name, 10> names{{
    {"call_ps", &Costs::call_ps, 1, second_ps},
    {"byte_ps", &Costs::byte_ps, 1, second_ps / 1000},
    {"disk_byte_ps", &Costs::disk_byte_ps, 1, second_ps / 1000},
    {"swept_byte_ps", &Costs::swept_byte_ps, 1, second_ps / 1000},
    {"swept_piece_ps", &Costs::swept_piece_ps, 1, second_ps},
    {"record_ps", &Costs::record_ps, 1, second_ps},
    {"bundled_ps", &Costs::bundled_ps, 1, second_ps},
    {"through_byte_ps", &Costs::through_byte_ps, 1, second_ps / 1000},
    {"trip_ps", &Costs::trip_ps, 1, 10 * second_ps},
    {"start_ps", &Costs::start_ps, 0, 10 * second_ps},
}};

// Early writeback of direct writes hides a sixth of the disk's time. The pipeline hides all but a sixth,
// because no other work runs beside the last departures.
constexpr std::uint64_t tail = 6;

// Ranks that poll beside a running agent yield in between. It loses an eighth of what they would take from a
// process that starts. Beside ranks that sieve, measured files gained nothing from that.
constexpr std::uint64_t yields = 8;

// `factor` in 1024ths; 0: not known.
std::uint64_t scaled(std::uint64_t ps, std::uint64_t factor) {
  if (factor == 0) return ps;
  return ps > UINT64_MAX / factor ? UINT64_MAX : ps * factor / 1024;
}

// Small pieces of one call share a record. The copy into it takes about half the time of the copy to the file
// system.
std::uint64_t records_ps(const Costs& costs, const Transfer& transfer) {
  const std::uint64_t each = transfer.pieces * costs.record_ps;
  const std::uint64_t shared =
      costs.record_ps + transfer.pieces * costs.bundled_ps + transfer.bytes * costs.byte_ps / 2;
  return std::min(each, shared);
}

}  // namespace

// The products stay far below 2^64 for any call. With absurd costs they may wrap; then only the guess is
// wrong.
Expected expected(const Costs& costs, const Transfer& transfer) {
  const std::uint64_t disk = transfer.made_stable ? transfer.bytes * costs.disk_byte_ps : 0;
  const std::uint64_t system = transfer.bytes * costs.byte_ps;
  const std::uint64_t by_calls = transfer.calls * costs.call_ps + system;
  const std::uint64_t by_sweep =
      costs.call_ps + transfer.pieces * costs.swept_piece_ps + transfer.swept * costs.swept_byte_ps;
  const std::uint64_t calls = transfer.swept != 0 ? by_sweep : by_calls;
  const std::uint64_t direct = scaled(calls, transfer.factors.library) + disk - disk / tail;
  const std::uint64_t agents =
      scaled(system + transfer.bytes * costs.through_byte_ps, transfer.factors.agent);
  const std::uint64_t share = transfer.swept != 0 ? transfer.crowding : transfer.crowding / yields;
  const std::uint64_t delay = transfer.met ? agents / 1024 * share : 0;
  const std::uint64_t through = records_ps(costs, transfer) + agents + delay;
  const std::uint64_t pipeline = std::max(through, disk) + disk / tail;
  return {direct, pipeline, calls};
}

bool Costs::measured() const {
  const Costs typical = typical_costs();
  return std::ranges::any_of(names,
                             [&](const Name& one) { return this->*one.member != typical.*one.member; });
}

std::string to_text(const Costs& costs) {
  std::string text;
  for (const Name& one : names)
    text += std::string(one.name) + " " + std::to_string(costs.*one.member) + "\n";
  return text;
}

bool parse(std::string_view text, Costs& costs) {
  Costs found = costs;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return false;
    const auto known = std::ranges::find(names, line.substr(0, space), &Name::name);
    if (known == names.end()) continue;  // a later version of Millrace may add costs
    const std::string_view value = line.substr(space + 1);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size()) return false;
    if (number < known->low || number > known->high) return false;
    found.*known->member = number;
  }
  costs = found;
  return true;
}

}  // namespace millrace::client
