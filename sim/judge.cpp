// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Cluster: checks whether the promises hold.
#include <algorithm>
#include <numeric>
#include <utility>

#include "cluster.hpp"

namespace millrace::sim {

namespace {

constexpr std::uint64_t journal_batch_bytes = 2 * MiB;  // of the ledger and of the overflow
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

// `there`: promised bytes are in the file by now, not only in a ledger.
void Cluster::acknowledge(const Rank& rank, bool stable, bool there) {
  if (scenario_.close_fails() && errors_ != old_errors_) return;  // the program knows that bytes are lost
  const std::span<const std::byte> file = stable ? disk_.stable(0) : disk_.contents(0);
  std::vector<Extent> fresh = oracle_.acknowledge(rank.number, stable, there);
  if (errors_ == 0) fresh = joined(std::move(fresh));
  for (const Extent extent : fresh) {
    if (!there || scenario_.loses_caches()) continue;
    if (const std::string wrong = oracle_.check(file, extent, -1, stable); !wrong.empty())
      return problem(who(rank) + " was answered too early: " + wrong);
  }
}

// A close(2) may tell one rank that bytes of another rank are lost. So closes count when all ranks have
// closed, if no rank got an error.
void Cluster::acknowledge_closes() {
  for (const Rank& rank : ranks_) {
    if (!rank.closed) continue;
    acknowledge(rank, ends_on_disk(scenario_.settings), scenario_.settings.durability != Durability::node);
  }
}

// `begun`: the oracle's moment at the beginning of the read. Bytes from another node may be as old.
void Cluster::check_read(const Rank& rank, std::span<const std::byte> file, Extent extent,
                         std::uint32_t begun) {
  if (may_be_gone()) return;
  const std::string wrong = oracle_.check(file, extent, static_cast<int>(rank.number), false, begun, met_);
  if (!wrong.empty()) problem(who(rank) + " reads what is wrong: " + wrong);
}

// Ends all agents, also those with bytes that they could not write. Then recovers the journals of each node,
// in any order of the nodes.
std::vector<std::byte> Cluster::recovered() {
  for (const auto& node : nodes_) {
    if (node->alive()) node->crash(false);
  }
  const bool stranger = scenario_.at_end.rewritten;
  befall(scenario_.at_end);
  if (!write_out(path_, disk_.contents(0))) problem("the file cannot be written");
  std::vector<std::uint32_t> order(scenario_.nodes);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t left = order.size(); left > 1; --left)
    std::swap(order[left - 1], order[timeline_.below(left)]);
  for (const std::uint32_t n : order) {
    const auto [status, said] = recover(disk_, n, nodes_[n]->journals(), moved_ ? path_ : "");
    const bool of_another = anew_ && (said.find("is not the file of this journal") != std::string::npos ||
                                      said.find("no such file") != std::string::npos);
    const bool newer = stranger && said.find("was changed after the end of its agent") != std::string::npos;
    // A rank of the run could not bring a dead agent's ledger to the file, because the disk failed, and
    // reported that.
    const bool passed_over = (disk_failed_ || scenario_.disk_fails()) &&
                             said.find("was opened for writing without") != std::string::npos;
    if (status != 0 && !of_another && !newer && !passed_over)
      problem("node " + std::to_string(n) + " cannot recover: " + said);
  }
  return read_in(path_);
}

// In a run without a fault there is nothing to tell.
void Cluster::judge_lines() {
  for (const auto& node : nodes_) {
    for (const std::string& line : node->told()) problem("an agent told, though nothing failed: " + line);
  }
}

void Cluster::judge(std::span<const std::byte> file, bool stable, const char* what) {
  for (std::uint64_t begin = 0; begin < scenario_.file_bytes && problems_.size() < most_problems;
       begin += judged_bytes) {
    const Extent part{begin, std::min(begin + judged_bytes, scenario_.file_bytes)};
    if (const std::string wrong = oracle_.check(file, part, -1, stable); !wrong.empty())
      problem(std::string(what) + " is wrong " + wrong);
  }
}

void Cluster::judge() {
  const bool recovers = keeps_ledger(scenario_.settings);
  // With a ledger, bytes of an answered close may still be on their way.
  if (!recovers || (!crashed_ && all_idle() && errors_ == old_errors_)) {
    judge(disk_.contents(0), scenario_.loses_caches(), "the file");
    judge(disk_.stable(0), true, "what is on the disk");
  }
  if (disk_.misuses() > 0) problem("memory changed while it was written, or writes in flight overlapped");
  judge_copies();
  const std::uint64_t most =
      scenario_.settings.sort_buffer_bytes + (recovers ? 2 * journal_batch_bytes : 0) + staged_bytes();
  for (std::uint32_t n = 0; n < scenario_.nodes; ++n) {
    if (nodes_[n]->most_in_flight() > most)
      problem("node " + std::to_string(n) + " had more in flight than its buffers");
  }
  if (!recovers) return;
  judge(recovered(), scenario_.loses_caches(), "the recovered file");
}

}  // namespace millrace::sim
