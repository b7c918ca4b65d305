// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/plan.hpp"

#include <span>
#include <utility>

#include "client/open/company.hpp"

namespace millrace::client {
namespace {

// The agreement of all ranks: the maximum over all ranks, word by word.
struct Words {
  Participants participants;
  std::uint64_t bypassed;
  std::uint64_t library_reads;
  std::uint64_t written;
  std::uint64_t incoherent;
};

using Heard = Introductions<Words, ObservedFiles, Decision>;

Words words_of(Team& team, Place& place, const Wishes& wishes) {
  Words mine{};
  mine.participants = participants_of(team, place, wishes);
  mine.bypassed = wishes.bypassed ? 1 : 0;
  mine.library_reads = wishes.library_reads ? 1 : 0;
  mine.written = wishes.written ? 1 : 0;
  mine.incoherent = wishes.incoherent ? 1 : 0;
  return mine;
}

// Which reads of a file that may be written the agents carry, until it is written.
Through through_until_written(const Settings& settings, const Sight& sight) {
  if (settings.stage == Stage::pieces) return Through::all;
  const bool worth =
      settings.stage == Stage::automatic && sight.remote && sight.bytes >= worth_carrying_bytes;
  return worth ? Through::small : Through::none;
}

Decision decide_write(Place& place, const Wishes& wishes) {
  const bool joins = joins_nodes(wishes.settings);
  const Sight sight = joins ? place.look(wishes.found) : Sight{};
  Decision decision = decide(place, wishes.settings, sight);
  decision.costs = place.costs_of(wishes.found);
  if (wishes.reads && joins) decision.through = through_until_written(wishes.settings, sight);
  return decision;
}

// False: an error, or some rank does not want the file accelerated. One rank of each node starts the agent
// now, so that all ranks hear its address.
bool introduce(Team& team, Place& place, const Wishes& wishes, Heard& heard) {
  if (wishes.wanted && team.rank() == 0) heard.word = decide_write(place, wishes);
  heard.remarks.file_system = heard.word.costs.file_system;
  Introduction<Words, ObservedFiles> mine{words_of(team, place, wishes), {}, wishes.observed};
  if (wishes.wanted) {
    const bool starts =
        wishes.starts && joins_nodes(wishes.settings) && !wishes.bypassed && !wishes.incoherent;
    mine.self = describe_self(wishes.found, wishes.settings, wishes.alone, starts, place);
  }
  const auto join = [](ObservedFiles& all, const ObservedFiles& one) {
    if (one.file_system == all.file_system) all.ways.join(one.ways);
  };
  return introduce(team, mine, heard, join) && heard.words.participants.take_part();
}

// Whether a node's agent is ready for the file, as the node's first rank finds.
enum Ready : int { unreachable, refused, ready };

// The last step of an open: only the agents' answers are missing. Sets `plan.apart` if some node's agent
// refuses the file, or cannot reach another node.
void open_everywhere(Team& team, Place& place, OpenRequest request, const Meeting& meeting, Plan& plan) {
  const bool across = request.routing.lanes > 0;
  request.left = why(meeting.reaches ? plan.apart : Apart::unreachable);
  request.late = across && !meeting.first_of_node && may_join_late(request.settings);
  OpenRequest again{.path = request.path,
                    .group = request.group,
                    .members = request.members,
                    .settings = request.settings,
                    .costs = request.costs,
                    .file_system = request.file_system};
  const bool late = request.late;
  plan.file = place.open(std::move(request));
  if (!across) return;
  const Ready own = !meeting.reaches ? unreachable : late || plan.file->registered() ? ready : refused;
  const int all = team.least(own);
  if (!meeting.known) remember_meeting(place, meeting, all != unreachable);
  // Now each agent knows the file, so the agents may call each other.
  if (all == ready) return;
  plan.file->withdraw();  // an agent of another node lacks the file; no rank has written yet
  plan.apart = all == refused ? Apart::refused : Apart::unreachable;
  again.left = why(plan.apart);
  plan.file = place.open(std::move(again));
}

}  // namespace

Participants participants_of(Team& team, Place& place, const Wishes& wishes) {
  Participants mine{0, wishes.wanted ? 0u : 1u, wishes.blocked ? 1u : 0u};
  if (team.rank() != 0) return mine;
  if (!place.draw(std::as_writable_bytes(std::span(&mine.group, 1)))) mine.refused = 1;
  mine.group = (mine.group >> 1) | 1u;  // never 0, and below 2^63
  return mine;
}

bool may_join_late(const FileSettings& settings) {
  return settings.strategy == Strategy::automatic && !keeps_ledger(settings);
}

Plan plan_write(Team& team, Place& place, Wishes wishes) {
  Plan plan;
  Heard heard;
  plan.ours = introduce(team, place, wishes, heard);
  plan.blocked = heard.words.participants.blocked != 0;
  if (!plan.ours) return plan;
  const Words& all = heard.words;
  const Decision& decision = heard.word;
  plan.group = all.participants.group;
  plan.costs = decision.costs.costs;
  plan.observed = heard.remarks;
  plan.one_node = heard.company.on_one_node();
  const auto members = static_cast<std::uint32_t>(plan.one_node ? team.size() : 0);
  const bool others_may_write = !plan.one_node || members != wishes.world;
  Meeting meeting{{}, members, wishes.settings.file, false};
  if (all.bypassed != 0)
    plan.apart = Apart::left_before;
  else if (all.incoherent != 0 && others_may_write)
    plan.apart = Apart::incoherent;
  else if (!plan.one_node)
    plan.apart = plan_meeting(team, place, heard.company, decision, false, meeting);
  if (plan.apart != Apart::no) meeting.routing = {};
  plan.route = meeting.route;
  plan.first_of_node = meeting.first_of_node;
  if (!plan.one_node && all.written == 0) plan.through = decision.through;
  plan.reads_alone = plan.one_node && all.library_reads == 0 && wishes.reads;
  open_everywhere(team, place,
                  {.path = std::move(wishes.path),
                   .group = plan.group,
                   .members = meeting.members,
                   .settings = meeting.settings,
                   .costs = decision.costs.costs,
                   .file_system = decision.costs.file_system,
                   .routing = meeting.routing,
                   .through = plan.through != Through::none,
                   .found = std::move(wishes.found),
                   .named = wishes.named,
                   .leaves_small = true},
                  meeting, plan);
  return plan;
}

}  // namespace millrace::client
