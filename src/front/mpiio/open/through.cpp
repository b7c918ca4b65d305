// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/open/through.hpp"

#include <algorithm>
#include <memory>
#include <span>

#include "client/file/mounts.hpp"
#include "client/open/stage.hpp"
#include "front/mpiio/ranks/communicator.hpp"
#include "front/mpiio/ranks/exchange.hpp"
#include "front/mpiio/types/datatype.hpp"

namespace millrace::front {

using client::Apart;
using client::Through;

Apart open_through(client::Team& team, ThroughPlan plan, client::Company& company,
                   const client::Decision& decision, Open& open) {
  client::Meeting meeting;
  if (const Apart apart = client::plan_meeting(team, company, decision, true, meeting); apart != Apart::no)
    return apart;
  // Nothing is written: there is nothing to keep or to bring to a disk.
  FileSettings reads = meeting.settings;
  reads.strategy = Strategy::automatic;
  reads.durability = Durability::server;
  const auto& hops = meeting.routing.hops;
  const bool serves = std::ranges::any_of(std::span(hops).first(meeting.routing.lanes),
                                          [](const transport::Hop& hop) { return hop.next.port == 0; });
  const bool registers = meeting.first_of_node && (serves || !meeting.late);
  std::unique_ptr<client::File> file = client::open({.path = plan.path,
                                                     .group = plan.group,
                                                     .members = meeting.members,
                                                     .settings = reads,
                                                     .writable = false,
                                                     .routing = meeting.routing,
                                                     .through = true,
                                                     .found = std::move(plan.found),
                                                     .file_bytes = open.reads.reader->original.size,
                                                     .leaves_small = true,
                                                     .late = !registers});
  if (meeting.late) {
    open.reads.untried = std::make_shared<const client::Meeting>(meeting);
  } else if (all_of(plan.comm, meeting.reaches && (file->registered() || !registers))) {
    client::remember_meeting(meeting,
                             true);  // now each agent knows the file, so the agents may call each other
  } else {
    file->withdraw();
    return Apart::unreachable;
  }
  open.reads.size_at_open = open.reads.reader->original.size;
  open.reads.reader.reset();
  open.file = std::move(file);
  open.nodes.ranks = ranks_of(plan.comm);
  open.nodes.meets_at_close = true;
  open.view.map = client::FileView(0, 1, share_map(MPI_BYTE));
  open.writable = false;
  open.reads.alone = true;
  open.reads.through = plan.large ? Through::all : Through::small;
  open.reads.until_written = true;
  open.pointer.start(0, true);
  return Apart::no;
}

bool agents_carry(Open& open) {
  std::call_once(open.reads.tried, [&open] {
    if (open.reads.untried != nullptr && !client::try_meeting(*open.reads.untried))
      open.reads.through = Through::none;
    open.reads.untried.reset();
  });
  return open.reads.through != Through::none;
}

Through through_until_written(const client::TargetFile& target, const Settings& settings) {
  if (!joins_nodes(settings)) return Through::none;
  if (settings.stage == Stage::pieces) return Through::all;
  const bool worth = settings.stage == Stage::automatic && client::is_remote(target) &&
                     client::stamp_of(target.lasting_path()).size >= worth_carrying_bytes;
  return worth ? Through::small : Through::none;
}

}  // namespace millrace::front
