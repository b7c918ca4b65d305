// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "judge.hpp"

#include <algorithm>
#include <utility>

#include "times.hpp"

namespace millrace::sim {

namespace {

constexpr std::size_t most_problems = 10;
// The time from a write until its bytes are in the file without a request: the agents' bound, and the disks'
// time.
constexpr std::uint64_t old_ns = 25 * second;
constexpr std::uint64_t judged_bytes =
    8 * MiB;  // checked at a time; the oracle needs several times as much memory

// Joins many extents to their hull, because one check of the hull is faster. As long as no rank has lost an
// agent, the bytes between the extents pass the check too. After a loss, bytes may still be in a ring that a
// rank has to save.
std::vector<Extent> joined(std::vector<Extent> extents) {
  constexpr std::size_t few = 64;
  constexpr std::uint64_t sparse = 16;
  if (extents.size() <= few) return extents;
  Extent hull = extents.front();
  std::uint64_t bytes = 0;
  for (const Extent one : extents) {
    hull = {std::min(hull.begin, one.begin), std::max(hull.end, one.end)};
    bytes += one.size();
  }
  // The pieces of one rank lie far apart between those of many ranks. A check of the hull would be slower.
  if (hull.size() > judged_bytes && hull.size() / bytes >= sparse) return extents;
  extents.clear();
  for (std::uint64_t begin = hull.begin; begin < hull.end; begin += judged_bytes)
    extents.push_back({begin, std::min(begin + judged_bytes, hull.end)});
  return extents;
}

}  // namespace

void Judge::problem(const std::string& text) {
  if (outcome_.problems.size() < most_problems) outcome_.problems.push_back(text);
  world_.note(0, "PROBLEM");
  world_.say(0, text);
}

void Judge::problem_of(std::uint32_t rank, const std::string& text) {
  const std::uint32_t node = rank / scenario_.ranks_per_node;
  problem("rank " + std::to_string(rank) + " on node " + std::to_string(node) + " " + text);
}

void Judge::hear(std::uint32_t rank, Status status, bool first) {
  outcome_.errors += first ? 1 : 0;
  if (scenario_.benign())
    problem_of(rank, "was told of an error though nothing failed: " + status.describe());
  check_patience(rank, status);
}

// Only the rank itself reports a timeout; errors elsewhere have codes of their own.
void Judge::check_patience(std::uint32_t rank, Status status) {
  if (status.code() == Code::timeout && !scenario_.stands_still(rank / scenario_.ranks_per_node))
    problem_of(rank, "gave up: its agent did not tell it what is wrong");
}

void Judge::acknowledge(std::uint32_t rank, bool stable, bool there) {
  if (scenario_.close_fails() && has_new_errors()) return;  // the program knows that bytes are lost
  const std::span<const std::byte> file = stable ? world_.disk.stable(0) : world_.disk.contents(0);
  std::vector<Extent> fresh = oracle_.acknowledge(rank, stable, there);
  if (outcome_.errors == 0) fresh = joined(std::move(fresh));
  for (const Extent extent : fresh) {
    if (!there || scenario_.loses_caches()) continue;
    if (const std::string wrong = oracle_.check(file, extent, -1, stable); !wrong.empty())
      return problem_of(rank, "was answered too early: " + wrong);
  }
}

void Judge::acknowledge_close(std::uint32_t rank) {
  acknowledge(rank, ends_on_disk(scenario_.settings), scenario_.settings.durability != Durability::node);
}

// Writes of all nodes that are older than the bound are in the file by now, or in the ledger of the writer's
// node. If ranks of that node have got an error, it may have no ledger any more.
void Judge::acknowledge_old(std::uint32_t node) {
  if (!scenario_.keeps_the_bound()) return;
  for (std::uint32_t rank = 0; rank < scenario_.programs.size(); ++rank) {
    if (rank / scenario_.ranks_per_node == node || !keeps_ledger(scenario_.settings))
      oracle_.acknowledge_old(rank, world_.now_ns() - old_ns);
  }
}

void Judge::check_read(std::uint32_t rank, std::span<const std::byte> file, Extent extent,
                       std::uint32_t begun) {
  if (may_be_gone()) return;
  const std::string wrong = oracle_.check(file, extent, static_cast<int>(rank), false, begun, met_);
  if (!wrong.empty()) problem_of(rank, "reads what is wrong: " + wrong);
}

bool Judge::check_ahead(std::uint32_t rank, std::uint64_t offset, std::span<const std::byte> bytes,
                        std::uint32_t fresh, std::uint32_t ordered) {
  seen_.resize(scenario_.file_bytes);
  std::ranges::copy(bytes, seen_.begin() + static_cast<std::ptrdiff_t>(offset));
  const Extent extent{offset, offset + bytes.size()};
  const std::string wrong = oracle_.check(seen_, extent, static_cast<int>(rank), false, fresh, ordered);
  if (!wrong.empty()) problem_of(rank, "reads what is wrong through the agents: " + wrong);
  return wrong.empty();
}

void Judge::check_file(const char* when) {
  check(world_.disk.contents(0), scenario_.loses_caches(), std::string("the file") + when);
  check(world_.disk.stable(0), true, std::string("what is on the disk") + when);
}

void Judge::check(std::span<const std::byte> file, bool stable, const std::string& what) {
  for (std::uint64_t begin = 0; begin < scenario_.file_bytes && outcome_.problems.size() < most_problems;
       begin += judged_bytes) {
    const Extent part{begin, std::min(begin + judged_bytes, scenario_.file_bytes)};
    if (const std::string wrong = oracle_.check(file, part, -1, stable); !wrong.empty())
      problem(what + " is wrong " + wrong);
  }
}

void Judge::begin_again() {
  oracle_.begin_again(scenario_.loses_caches());
  disk_failed_ |= scenario_.disk_fails();
  old_errors_ = outcome_.errors;
}

}  // namespace millrace::sim
