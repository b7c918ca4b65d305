// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Cluster: MPI_File_open. The ranks agree by the shipped protocol (client/open/plan.hpp).
#include <algorithm>
#include <utility>

#include "client/file/file.hpp"
#include "cluster.hpp"

namespace millrace::sim {

bool Cluster::looks_on(const Rank& rank) const { return scenario_.conduct.onlooker == rank.number; }

std::vector<Seat*> Cluster::seats(bool all) const {
  std::vector<Seat*> seats;
  seats.reserve(ranks_.size());
  for (const Rank& one : ranks_) {
    if (all || !looks_on(one)) seats.push_back(&one.process->seat());
  }
  return seats;
}

// The assembly of the rank's next open. The first rank that arrives makes it.
Assembly& Cluster::assemble(Rank& rank) {
  if (assemblies_.size() == rank.opened)
    assemblies_.push_back(std::make_unique<Assembly>(seats(false), timeline_));
  return *assemblies_[rank.opened++];
}

client::Wishes Cluster::wishes_of(const Rank& rank, const transport::RoutePlan& plan,
                                  millrace::Stage stage) const {
  client::Wishes wishes;
  wishes.path = path_;
  (void)wishes.found.remember(path_);
  wishes.settings.file = scenario_.settings;
  wishes.settings.topology = plan.topology;
  wishes.settings.file_servers = scenario_.conduct.apart ? 0 : plan.lanes;
  wishes.settings.stage = stage;
  wishes.words.library_reads = 1;
  wishes.reads = stage != millrace::Stage::none;
  wishes.starts = (rank.number + 1) % scenario_.ranks_per_node == 0;  // the last rank of its node
  wishes.world = static_cast<std::uint32_t>(ranks_.size());
  return wishes;
}

client::Plan Cluster::agree(Rank& rank, Protocol protocol, client::Wishes wishes) {
  Assembly& assembly = assemble(rank);
  VirtualTeam team(assembly, rank.process->seat());
  client::Plan plan = protocol(team, *rank.place, std::move(wishes));
  if (!assembly.agrees(plan)) problem(who(rank) + " has another plan than the others, or none");
  if (scenario_.benign() && plan.apart != client::Apart::no && !scenario_.conduct.apart)
    problem(who(rank) + " leaves the file to the MPI library, though nothing failed");
  return plan;
}

Status Cluster::open(Rank& rank) {
  const Result<io::Handle> handle = rank.process->library().open(file_of(rank));
  if (!handle) return handle.status();
  rank.handle = *handle;
  if (scenario_.conduct.second_handles || looks_on(rank))
    rank.second = client::open_guest(path_, *rank.process);
  if (looks_on(rank)) return {};
  if (scenario_.stands_in) rank.place->set_stand_in(is_elsewhere(rank) ? stand_in(rank.node) : "");
  if (scenario_.reads.until_written) show_size();
  const millrace::Stage stage =
      scenario_.reads.until_written ? millrace::Stage::pieces : millrace::Stage::none;
  client::Plan plan = agree(rank, client::plan_write, wishes_of(rank, scenario_.plan, stage));
  if (rank.gone) return {};
  if (!plan.ours) return Code::lost_peer;  // a rank has died
  const bool routed = scenario_.nodes > 1 && plan.apart == client::Apart::no;
  // The open of a file of one node fails if some node has no agent.
  if (scenario_.stands_in && (!routed || !plan.file->registered())) return Code::lost_agent;
  rank.file = std::move(plan.file);
  rank.reader.through = routed && plan.through != client::Through::none;
  rank.written = rank.closed = false;
  rank.reader.refreshed = true;
  return {};
}

// If only the first node sees the file, every other node gets a new stand-in at each opening.
void Cluster::count_opening() {
  ++openings_;
  stand_ins_.clear();
  for (std::uint32_t n = 1; scenario_.stands_in && n < scenario_.nodes; ++n)
    stand_ins_.push_back(disk_.create(stand_in(n)));
}

// The first opening, before any fault. False: an open failed.
bool Cluster::open_all() {
  count_opening();
  std::size_t opening = ranks_.size();
  const auto open_first = [this, &opening](Rank& rank) {
    const Status status = open(rank);
    if (!status.ok()) problem(who(rank) + " cannot open the file: " + status.describe());
    --opening;
  };
  for (Rank& rank : ranks_)
    rank.process->seat().begin([&rank, open_first] { open_first(rank); }, timeline_.below(think_ns));
  while (opening > 0 && timeline_.step(longest_ns)) {
  }
  if (opening > 0) problem("the first open does not end");
  return problems_.empty();
}

}  // namespace millrace::sim
