// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/through.hpp"

#include <memory>

#include "client/storage_host.hpp"
#include "front/mpiio/datatype.hpp"
#include "front/mpiio/opening.hpp"

namespace millrace::front {

std::uint64_t storage_of(const std::string& path) { return client::host_number(client::storage_host(path)); }

bool open_through(MPI_Comm comm, const std::string& path, std::uint64_t group, std::vector<Peer>& peers,
                  const Decision& decision, MPI_File handle) {
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
                             .through = true});
  // Now each agent knows the file, so the agents may call each other.
  if (!all_of(comm, open->file->registered())) {
    (void)open->file->close();
    return false;
  }
  add(std::move(open));
  return true;
}

}  // namespace millrace::front
