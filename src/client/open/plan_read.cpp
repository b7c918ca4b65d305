// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>
#include <utility>

#include "client/open/company.hpp"
#include "client/open/plan.hpp"

namespace millrace::client {
namespace {

// For stage=auto: if some node reads only part of a file, other ways of reading are cheaper.
constexpr std::uint32_t nearly_whole = 900;  // thousandths

// The agreement of all ranks: the maximum over all ranks, word by word.
struct Words {
  Participants participants;
  std::uint64_t stage;          // a Stage of rank 0
  std::uint64_t unfit;          // why rank 0 finds that the file needs no agents: a Reason, or 0
  std::uint64_t bytes;          // the file's size, the largest that a rank has seen
  std::uint64_t unknown;        // some rank has not read a file of the series
  std::uint64_t library_reads;  // rank 0 cannot read the file without the library
  std::uint64_t written;        // some rank has written the file by another handle
  std::uint64_t writable;       // some rank has the file open for writing
};

struct NoRemark {};
using Heard = Introductions<Words, NoRemark, Decision>;

Reason unfit(const Sight& sight) {
  if (!sight.remote) return Reason::file_local;
  return sight.bytes >= worth_carrying_bytes ? Reason::none : Reason::file_small;
}

// False: an error, or some rank does not want the file accelerated.
bool introduce(Team& team, Place& place, const Wishes& wishes, Heard& heard) {
  const bool first = wishes.wanted && team.rank() == 0;
  const Stage asked = joins_nodes(wishes.settings) ? wishes.settings.stage : Stage::none;
  const bool leads = wishes.wanted && wishes.leads && asked != Stage::none;
  const Sight sight = leads || first ? place.look(wishes.found) : Sight{};
  Words mine{};
  mine.participants = participants_of(team, place, wishes);
  mine.bytes = sight.bytes;
  mine.unknown = wishes.share == ReadShares::unknown ? 1 : 0;
  mine.written = wishes.written ? 1 : 0;
  mine.writable = wishes.writable ? 1 : 0;
  if (first) {
    mine.stage = static_cast<std::uint64_t>(asked);
    mine.unfit = static_cast<std::uint64_t>(unfit(sight));
    mine.library_reads = sight.remote ? 1 : 0;
    heard.word = decide(place, wishes.settings, sight);
  }
  // Other nodes need this node's agent only if it is the file server.
  const bool serves = leads && unfit(sight) == Reason::none && sight.storage_host == place.host();
  const Peer self =
      wishes.wanted ? describe_self(wishes.found, wishes.settings, false, serves, place) : Peer{};
  const Introduction<Words, NoRemark> message{mine, self, {}};
  return introduce(team, message, heard, [](NoRemark&, const NoRemark&) {}) &&
         heard.words.participants.take_part();
}

OpenRequest request_of(const Wishes& wishes, const Plan& plan) {
  return {.path = wishes.path, .group = plan.group, .settings = wishes.settings.file, .writable = false};
}

// For the report: the library alone reads the file.
void report_left(Place& place, const Wishes& wishes, const Plan& plan, Reason why) {
  if (wishes.settings.stats_path.empty()) return;
  const std::unique_ptr<File> file = place.open(request_of(wishes, plan));
  const bool small = why == Reason::file_small;
  (void)file->set_direct({why, 0, small ? plan.bytes : 0, small ? worth_carrying_bytes : 0});
  (void)file->close();
}

// Lets the nodes' agents carry the reads. Apart::no: they do.
Apart open_through(Team& team, Place& place, Wishes& wishes, Heard& heard, Plan& plan) {
  Meeting meeting;
  if (const Apart apart = plan_meeting(team, place, heard.company, heard.word, true, meeting);
      apart != Apart::no)
    return apart;
  const auto lanes = std::span(meeting.routing.hops).first(meeting.routing.lanes);
  const bool serves =
      std::ranges::any_of(lanes, [](const transport::Hop& hop) { return hop.next.port == 0; });
  const bool registers = meeting.first_of_node && (serves || !meeting.late);
  OpenRequest request = request_of(wishes, plan);
  request.members = meeting.members;
  request.settings = meeting.settings;
  // Nothing is written: there is nothing to keep or to bring to a disk.
  request.settings.strategy = Strategy::automatic;
  request.settings.durability = Durability::server;
  request.routing = meeting.routing;
  request.through = true;
  request.found = std::move(wishes.found);
  request.file_bytes = plan.bytes;
  request.leaves_small = true;
  request.late = !registers;
  plan.file = place.open(std::move(request));
  plan.route = meeting.route;
  if (meeting.late) {
    plan.untried = std::make_shared<const Meeting>(meeting);
  } else if (team.least(meeting.reaches && (plan.file->registered() || !registers) ? 1 : 0) == 1) {
    // Now each agent knows the file, so the agents may call each other.
    remember_meeting(place, meeting, true);
  } else {
    plan.file->withdraw();
    return Apart::unreachable;
  }
  return Apart::no;
}

// The ranks are on several nodes.
void read_on_nodes(Team& team, Place& place, Wishes& wishes, Heard& heard, Plan& plan) {
  const Words& all = heard.words;
  const Stage stage = static_cast<Stage>(all.stage);
  const bool automatic = stage == Stage::automatic, whole = stage == Stage::whole;
  plan.ours = stage != Stage::none && (!automatic || all.unfit == 0);
  if (!plan.ours)
    return report_left(place, wishes, plan,
                       stage == Stage::none ? Reason::stage_none : static_cast<Reason>(all.unfit));
  // A copy would lack the bytes of a rank that may write.
  const bool may_copy = all.writable == 0 && (whole || (automatic && all.unknown == 0));
  const std::uint32_t least_share = automatic ? nearly_whole : 0;
  plan.copied = may_copy && wishes.copy(plan.group, least_share);
  const bool refused = whole && all.writable != 0;
  if (refused && team.rank() == 0)
    place.say(wishes.path + " is read where it is, not copied to every node: a rank has it open for writing");
  Reason left = refused || all.written != 0 ? Reason::written_before : Reason::none;
  if (!plan.copied && !whole && all.written == 0) {
    plan.apart = open_through(team, place, wishes, heard, plan);
    if (plan.apart == Apart::no) plan.through = automatic ? Through::small : Through::all;
    if (plan.apart == Apart::no) return;
    left = why(plan.apart);
  }
  OpenRequest request = request_of(wishes, plan);
  request.left = left;
  plan.file = place.open(std::move(request));
  if (plan.copied)
    (void)plan.file->set_direct({Reason::copy_on_node, 0, automatic ? wishes.share : 0, least_share});
}

}  // namespace

Plan plan_read(Team& team, Place& place, Wishes wishes) {
  Plan plan;
  Heard heard;
  plan.ours = introduce(team, place, wishes, heard);
  plan.blocked = heard.words.participants.blocked != 0;
  if (!plan.ours) return plan;
  plan.group = heard.words.participants.group;
  plan.bytes = heard.words.bytes;
  plan.one_node = heard.company.on_one_node();
  if (!plan.one_node) {
    read_on_nodes(team, place, wishes, heard, plan);
    return plan;
  }
  plan.ours = plan.reads_alone = heard.words.library_reads == 0;
  if (!plan.ours) return plan;
  OpenRequest request = request_of(wishes, plan);
  request.found = std::move(wishes.found);
  plan.file = place.open(std::move(request));
  return plan;
}

}  // namespace millrace::client
