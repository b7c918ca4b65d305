// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/through.hpp"

#include <memory>
#include <vector>

#include "front/mpiio/datatype.hpp"
#include "front/mpiio/nodes.hpp"
#include "front/mpiio/opening.hpp"

namespace millrace::front {

bool open_through(MPI_Comm comm, const std::string& path, const Settings& settings, std::uint64_t group,
                  MPI_File handle) {
  int rank = 0, size = 1;
  if (PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS || PMPI_Comm_size(comm, &size) != MPI_SUCCESS) return false;
  client::TargetFile found;
  (void)found.remember(path);
  const Peer self = describe_self(found.inode(), settings, false);
  Decision decision = rank == 0 ? decide(path, settings) : Decision{};
  std::vector<Peer> peers(static_cast<std::size_t>(size), self);
  if (!gather(comm, self, peers, decision)) return false;
  Meeting meeting;
  if (meet_nodes(comm, peers, decision, meeting) != Apart::no) return false;
  // Nothing is written: there is nothing to keep or to bring to a disk.
  FileSettings reads = meeting.settings;
  reads.strategy = Strategy::automatic;
  reads.durability = Durability::server;
  auto open = std::make_unique<Open>();
  open->handle = handle;
  open->path = path;
  open->group = group;
  open->view = client::FileView(0, 1, share_map(MPI_BYTE));
  open->writable = false;
  open->reads_alone = open->reads_through = true;
  open->holder = Open::Holder::both;
  open->file = client::open({.path = path,
                             .group = group,
                             .members = meeting.members,
                             .settings = reads,
                             .writable = false,
                             .routing = meeting.routing,
                             .through = true,
                             .found = std::move(found)});
  // Now each agent knows the file, so the agents may call each other.
  if (!all_of(comm, open->file->registered())) {
    (void)open->file->close();
    return false;
  }
  add(std::move(open));
  return true;
}

}  // namespace millrace::front
