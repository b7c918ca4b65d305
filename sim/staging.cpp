// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "client/open/node_copy.hpp"
#include "cluster.hpp"
#include "oracle.hpp"

namespace millrace::sim {

// --- The file ---

Original::Original(const Stage& stage, std::uint32_t number, World& world)
    : world_(world),
      stage_(stage),
      bytes_(stage.bytes),
      file_(world.disk.create()),
      stamp_{1, stage.bytes, 0} {
  for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = Oracle::value(number, i);
  world_.disk.put(file_, bytes_);
}

bool Original::readable_to(std::uint64_t end) {
  if (stage_.harm == Stage::Harm::none || end < stage_.harm_at) return true;
  if (stage_.harm == Stage::Harm::unreadable) {
    harmed_ = true;
    return false;
  }
  if (!std::exchange(planned_, true)) {
    if (stage_.harm_after_ns == 0)
      harm();
    else
      world_.timeline.after(stage_.harm_after_ns, [this] { harm(); });
  }
  return true;
}

void Original::harm() {
  harmed_ = true;
  std::vector<std::byte> now = bytes_;
  if (stage_.harm == Stage::Harm::cut_short) now.resize(world_.timeline.below(now.size()));
  if (stage_.harm == Stage::Harm::grown) now.resize(now.size() + 1 + world_.timeline.below(now.size()));
  if (stage_.harm == Stage::Harm::rewritten) {
    for (std::byte& byte : now) byte = ~byte;
  }
  world_.disk.put(file_, now);
  stamp_ = {stamp_.inode, now.size(), static_cast<std::int64_t>(world_.now_ns())};
  world_.note(0, "the staged file is changed: bytes", now.size());
}

Result<std::size_t> VirtualSource::read(std::uint64_t offset, std::span<std::byte> data) {
  const std::uint64_t less = timeline_.chance(4) ? timeline_.below(data.size()) : 0;
  if (!original_.readable_to(offset + data.size())) return Status::from_errno(EIO);
  return held_.read(offset, data.first(data.size() - less));
}

// --- The ranks ---

namespace {

// Reads the copy, as the program would from now on.
void read_copy(Cluster& cluster, Rank& rank, const std::vector<std::byte>& right, const Held& copy) {
  rank.think();
  std::vector<std::byte> seen(right.size() + 1);
  const Result<std::size_t> got = copy.read(0, seen);
  if (rank.gone()) return;
  if (!got) return rank.problem("cannot read its copy: " + got.status().describe());
  ++cluster.outcome.copies;
  seen.resize(*got);
  if (seen == right) return;
  const auto [wrong, unheeded] = std::ranges::mismatch(seen, right);
  rank.problem("has a copy of " + std::to_string(*got) + " bytes of " + std::to_string(right.size()) +
               ", wrong at " + std::to_string(wrong - seen.begin()));
}

}  // namespace

// A rank reads the file itself unless every node has a copy, so a failure here is no error of a rank.
void stage_file(Cluster& cluster, Rank& rank) {
  constexpr std::uint64_t groups = std::uint64_t{1} << 32;  // beyond the other groups
  rank.note("stages: rank");
  Staging& staging = cluster.job.staging();
  VirtualTeam team(staging.assembly, rank.process().seat(), true);
  rank.place().begin_copy(staging);
  client::Peer self;
  self.node.number = rank.place().node();
  client::Words words{};
  client::Company company;
  std::optional<client::StagedCopy> copy;
  if (client::introduce(team, self, words, company))
    copy = client::stage_whole(team, rank.place(), company, {"a staged file", groups + staging.opening});
  const auto held = rank.place().end_copy();
  if (copy) read_copy(cluster, rank, staging.original.bytes(), *held);
  if (rank.gone()) return;
  // An agent with less memory may have none for one more file, and may refuse the copy.
  const bool has_memory = cluster.scenario.settings.sort_buffer_bytes >= 4 * MiB;
  if (!copy && cluster.scenario.benign() && !staging.original.harmed() && has_memory)
    rank.problem("has no copy of a file though nothing failed");
  rank.think();
}

}  // namespace millrace::sim
