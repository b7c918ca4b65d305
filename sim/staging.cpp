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

namespace {
// An agent with less memory may have none for one more file, and may refuse the copy.
constexpr std::uint64_t sure_bytes = 4 * MiB;
}  // namespace

// --- The file ---

Original::Original(const Stage& stage, std::uint32_t number, const World& world)
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
  stamp_ = {stamp_.inode, now.size(), static_cast<std::int64_t>(world_.timeline.now_ns())};
  world_.trace.note(world_.timeline.now_ns(), 0, "the staged file is changed: bytes", now.size());
}

Result<std::size_t> VirtualSource::read(std::uint64_t offset, std::span<std::byte> data) {
  const std::uint64_t less = timeline_.chance(4) ? timeline_.below(data.size()) : 0;
  if (!original_.readable_to(offset + data.size())) return Status::from_errno(EIO);
  return held_.read(offset, data.first(data.size() - less));
}

// --- The ranks ---

// A rank reads the file itself unless every node has a copy, so a failure here is no error of a rank.
void Cluster::stage(Rank& rank) {
  constexpr std::uint64_t groups = std::uint64_t{1} << 32;  // beyond the other groups
  note(rank, "stages: rank");
  Staging& staging = current_staging();
  VirtualTeam team(staging.assembly, rank.process->seat());
  rank.place->begin_copy(staging, folder_.path());
  const client::StagePlan plan{"a staged file", {}, groups + openings_, 0, 0};
  const std::optional<client::StagedCopy> copy = client::stage_whole(team, *rank.place, plan);
  const auto held = rank.place->end_copy();
  if (copy) read_copy(rank, staging, *held);
  if (rank.gone) return;
  const bool has_memory = scenario_.settings.sort_buffer_bytes >= sure_bytes;
  if (!copy && scenario_.benign() && !staging.original.harmed() && has_memory)
    problem(who(rank) + " has no copy of a file though nothing failed");
  think(rank);
}

// The first rank that arrives creates the Staging.
Staging& Cluster::current_staging() {
  if (stagings_.empty() || stagings_.back()->opening != openings_) {
    stagings_.push_back(
        std::make_unique<Staging>(*scenario_.stage, openings_, scenario_.nodes, world(), seats(true)));
  }
  return *stagings_.back();
}

// Reads the copy, as the program would from now on.
void Cluster::read_copy(Rank& rank, const Staging& staging, const Held& copy) {
  think(rank);
  const std::vector<std::byte>& right = staging.original.bytes();
  std::vector<std::byte> seen(right.size() + 1);
  const Result<std::size_t> got = copy.read(0, seen);
  if (rank.gone) return;
  if (!got) return problem(who(rank) + " cannot read its copy: " + got.status().describe());
  ++copies_;
  seen.resize(*got);
  if (seen == right) return;
  const auto [wrong, unheeded] = std::ranges::mismatch(seen, right);
  problem(who(rank) + " has a copy of " + std::to_string(*got) + " bytes of " + std::to_string(right.size()) +
          ", wrong at " + std::to_string(wrong - seen.begin()));
}

// --- The judge ---

// A file without a name disappears with its last close.
void Cluster::judge_copies() {
  for (const auto& staging : stagings_) {
    for (std::uint32_t n = 0; n < scenario_.nodes; ++n) {
      const Staging::Copy& copy = staging->copies[n];
      if (!copy.lost && copy.file.valid() && disk_.knows(copy.file))
        problem("node " + std::to_string(n) + " keeps a copy that nobody has open");
    }
  }
}

// The bytes that an agent may have in flight for staged files.
std::uint64_t Cluster::staged_bytes() const {
  std::uint64_t most = 0;
  for (const auto& staging : stagings_)
    most = std::max<std::uint64_t>(most, staging->original.bytes().size());
  return std::min(most, client::stage_settings().sort_buffer_bytes);
}

}  // namespace millrace::sim
