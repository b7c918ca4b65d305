// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "client/file/file.hpp"
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

// Follows front/mpiio/chain; the ranks meet in place of its collective calls. A rank reads the file itself
// unless every node has a copy, so a failure here is no error of a rank.
void Cluster::stage(Rank& rank) {
  note(rank, "stages: rank");
  Staging& staging = current_staging();
  Staging::Copy& copy = staging.copies[rank.node];
  const bool leads = rank.number % scenario_.ranks_per_node == 0;
  bool agreed = all_of(rank, staging.prepared, !leads || prepare(rank, staging));
  if (agreed) {
    const Fd file = client::open_copy(copy.path);
    const Held held(*rank.process, file);
    const auto chain = leads ? join(rank, staging) : nullptr;
    agreed = all_of(rank, staging.joined, file.valid() && (!leads || chain->registered()));
    if (leads) client::remove_copy(copy.path);
    agreed = agreed && pass(rank, staging, chain.get());
    if (leads) check_patience(rank, chain->close());
    if (agreed) read_copy(rank, staging, held);
  }
  if (rank.gone) return;
  const bool has_memory = scenario_.settings.sort_buffer_bytes >= sure_bytes;
  if (!agreed && scenario_.benign() && !staging.original.harmed() && has_memory)
    problem(who(rank) + " has no copy of a file though nothing failed");
  think(rank);
}

// The first rank that arrives creates the Staging.
Staging& Cluster::current_staging() {
  if (stagings_.empty() || stagings_.back()->opening != openings_) {
    stagings_.push_back(std::make_unique<Staging>(*scenario_.stage, openings_, scenario_.nodes, world()));
  }
  return *stagings_.back();
}

// Stands for an MPI_Allreduce: true if all ranks say yes. A rank that has died says nothing.
bool Cluster::all_of(Rank& rank, std::uint32_t& yes, bool mine) {
  if (rank.gone) return false;
  yes += mine ? 1 : 0;
  meet(rank);
  return !rank.gone && yes == ranks_.size();
}

bool Cluster::prepare(Rank& rank, Staging& staging) {
  if (rank.number == 0) staging.stamp = staging.original.stamp();
  Staging::Copy& copy = staging.copies[rank.node];
  const Result<std::uint16_t> port = rank.process->session().meet();
  if (!port) return false;
  copy.agent = io::VirtualNet::address_of(rank.node, *port);
  copy.path = folder_.path() + "/copy-" + std::to_string(openings_) + "-" + std::to_string(rank.node);
  if (!client::create_copy(copy.path).ok()) return false;
  copy.file = client::open_copy(copy.path);
  return copy.file.valid();
}

std::unique_ptr<client::File> Cluster::join(Rank& rank, const Staging& staging) {
  constexpr std::uint64_t groups = std::uint64_t{1} << 32;  // beyond the other groups
  std::vector<client::AgentAddress> agents;
  agents.reserve(staging.copies.size());
  for (const Staging::Copy& copy : staging.copies) agents.push_back(copy.agent);
  client::OpenRequest request;
  request.path = staging.copies[rank.node].path;
  request.group = groups + openings_;
  request.settings = client::stage_settings();
  request.routing = client::chain_of(agents, rank.node);
  request.routing.key.fill(std::byte{7});
  return client::open(std::move(request), *rank.process);
}

bool Cluster::pass(Rank& rank, Staging& staging, client::File* chain) {
  Status status;
  if (rank.number == 0) {
    VirtualSource source(staging.original, *rank.process, timeline_);
    status = client::send_whole(*chain, source, staging.stamp);
    note(rank, "has sent a file: rank code", static_cast<std::uint64_t>(status.code()));
    check_patience(rank, status);
    if (status.ok() && !rank.gone && staging.original.stamp() != staging.stamp)
      problem(who(rank) + " sent a file that had changed by then");
  }
  const bool sent = all_of(rank, staging.sent, status.ok());
  const Fd& copy = staging.copies[rank.node].file;
  const bool whole = sent && disk_.contents(copy).size() == staging.stamp.size;
  return all_of(rank, staging.whole, whole);
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
