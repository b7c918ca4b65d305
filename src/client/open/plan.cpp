// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/plan.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <span>
#include <string>
#include <utility>

#include "client/open/company.hpp"
#include "client/open/node_copy.hpp"

namespace millrace::client {
namespace {

// For stage=auto: if some node reads only part of a file, other ways of reading are cheaper.
constexpr std::uint32_t nearly_whole = 900;  // thousandths

// The end of the first exchange: every rank has the maximum of all words, and rank 0's decision.
struct Heard {
  Words words{};
  Decision decision{};
  Company company;
};

// The exchange of every open. With `starts`, this rank starts its node's agent now, so that all ranks hear
// its address. Sets the parts of the plan that need no more than the words. The plan is not ours after an
// error, or if some rank does not want the file accelerated.
void introduce(Team& team, Place& place, const Wishes& wishes, bool starts, Heard& heard, Plan& plan) {
  struct {
    Words words;
    std::array<std::uint64_t, sizeof(Decision) / sizeof(std::uint64_t)> decision{};  // none but rank 0's
  } all{wishes.words};
  if (team.rank() == 0) {
    std::uint64_t& group = all.words.group;
    if (!place.draw(std::as_writable_bytes(std::span(&group, 1)))) all.words.refused = 1;
    group |= 1u;  // never 0
    all.decision = std::bit_cast<decltype(all.decision)>(heard.decision);
  }
  Peer self;
  if (wishes.words.refused == 0)
    self = describe_self(wishes.found, wishes.settings, wishes.alone, starts, place);
  self.node.number = place.node();
  self.node.share = wishes.share;
  const bool told = introduce(team, self, all, heard.company);
  heard.words = all.words;
  heard.decision = std::bit_cast<Decision>(all.decision);
  plan.ours = told && heard.words.refused == 0 && heard.words.blocked == 0;
  plan.blocked = heard.words.blocked != 0;
  plan.group = heard.words.group;
  plan.one_node = heard.company.on_one_node();
  plan.bytes = heard.words.bytes;
  plan.costs = heard.decision.costs;
}

// --- Files that may be written ---

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

// Whether a node's agent is ready for the file, as the node's first rank finds.
enum Ready : int { unreachable, refused, ready };

// The last step of an open: only the agents' answers are missing. Sets `plan.apart` if some node's agent
// refuses the file, or cannot reach another node.
void open_everywhere(Team& team, Place& place, OpenRequest request, const Meeting& meeting, Plan& plan) {
  const bool across = request.routing.lanes > 0;
  request.left = why(meeting.reaches ? plan.apart : Apart::unreachable);
  const bool stands_in = request.routing.stands_in != 0;
  request.late = across && !stands_in && !meeting.first_of_node && may_join_late(request.settings);
  OpenRequest again{.path = request.path,
                    .group = request.group,
                    .members = request.members,
                    .settings = request.settings,
                    .costs = request.costs,
                    .factors = request.factors};
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
  plan.through = Through::none;
  again.left = why(plan.apart);
  if (!stands_in) plan.file = place.open(std::move(again));
}

// --- Files that are only read ---

// False: each node reads the file as fast by itself.
bool fits_agents(const Sight& sight) { return sight.remote && sight.bytes >= worth_carrying_bytes; }

OpenRequest request_of(const Wishes& wishes, const Plan& plan) {
  return {.path = wishes.path, .group = plan.group, .settings = wishes.settings.file, .writable = false};
}

// For the report: the library alone reads the file.
void report_left(Place& place, const Wishes& wishes, const Plan& plan, Reason why) {
  if (wishes.settings.stats_path.empty()) return;
  const std::unique_ptr<File> file = place.open(request_of(wishes, plan));
  const bool small = why == Reason::read_by_each_node && plan.bytes < worth_carrying_bytes;
  (void)file->set_direct({why, 0, small ? plan.bytes : 0, small ? worth_carrying_bytes : 0});
  (void)file->close();
}

// Lets the nodes' agents carry the reads. Apart::no: they do.
Apart open_through(Team& team, Place& place, Wishes& wishes, Heard& heard, Plan& plan) {
  Meeting meeting;
  if (const Apart apart = plan_meeting(team, place, heard.company, heard.decision, true, meeting);
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
                       stage == Stage::none ? Reason::stage_chosen : Reason::read_by_each_node);
  // A copy would lack the bytes of a rank that may write.
  const bool may_copy = all.writable == 0 && (whole || (automatic && all.unknown == 0));
  const std::uint32_t least_share = automatic ? nearly_whole : 0;
  plan.copied = may_copy && heard.company.share >= least_share &&
                wishes.copy(heard.company, {wishes.path, plan.group, automatic});
  const bool refused = whole && all.writable != 0;
  if (refused && team.rank() == 0)
    place.say(wishes.path + " is read where it is, not copied to every node: a rank has it open for writing");
  Reason left = refused || all.written != 0 ? Reason::other_handle : Reason::none;
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

// --- Files that only rank 0's node sees ---

// All ranks fail. Rank 0 says why before any rank can end the job.
void refuse(Team& team, Place& place, const std::string& line, int error, Plan& plan) {
  if (team.rank() == 0 && !line.empty()) place.say(line);
  (void)team.least(1);
  plan.error = error;
}

// Rank 0 opens the file, and makes it if the mode asks for that. Then the other ranks of its node open it.
void open_target(Team& team, Place& place, const Wishes& wishes, Plan& plan) {
  constexpr int none = 1 << 20;  // above all errors
  const bool writes = (wishes.mode & O_ACCMODE) != O_RDONLY;
  for (const bool first : {true, false}) {
    int error = none;
    if (!plan.elsewhere && first == (team.rank() == 0)) {
      const int mode = first ? wishes.mode : wishes.mode & ~(O_CREAT | O_EXCL);
      Result<Fd> target =
          place.open_target(wishes.path, mode, first && writes ? &wishes.settings.file : nullptr);
      if (const int failed = target.status().error(); !target) error = failed != 0 ? failed : EIO;
      plan.opened = target ? *std::move(target) : Fd();
    }
    const int all = team.least(error);
    plan.error = all == none ? 0 : all == 0 ? EIO : all;
    if (plan.error != 0) return;
  }
}

// A route with one file server, which is rank 0's node.
void open_on_first(Team& team, Place& place, Wishes& wishes, Heard& heard, Plan& plan) {
  const bool writes = (wishes.mode & O_ACCMODE) != O_RDONLY;
  plan.elsewhere = heard.company.index_of(place.node()) != 0;
  plan.opened = stand_in(team, place, heard.company, {wishes.path, plan.group, false, true});
  if (!plan.opened.valid()) return refuse(team, place, "", EIO, plan);
  open_target(team, place, wishes, plan);
  if (plan.error != 0) return;
  Meeting meeting;
  plan.apart = plan_meeting(team, place, heard.company, heard.decision, false, meeting);
  plan.route = meeting.route;
  if (!writes && plan.elsewhere && heard.words.stage == static_cast<std::uint64_t>(Stage::pieces))
    plan.through = Through::all;
  if (plan.apart == Apart::no)
    open_everywhere(team, place,
                    {.path = wishes.path,
                     .stand_in = plan.elsewhere ? "/proc/self/fd/" + std::to_string(plan.opened.get()) : "",
                     .group = plan.group,
                     .members = meeting.members,
                     .settings = meeting.settings,
                     .writable = writes,
                     .routing = meeting.routing,
                     .through = !writes,
                     .file_bytes = plan.through != Through::none ? plan.bytes : 0},
                    meeting, plan);
  if (plan.apart == Apart::no) return;
  const std::string reason =
      heard.company.alone
          ? "a rank has it open by another handle, without ranks of other nodes (MPI_COMM_SELF), and has "
            "written to it; close that handle first"
          : std::string(text_of(why(plan.apart)).text);
  refuse(team, place, wishes.path + " cannot be reached from every node, and was not opened: " + reason, EIO,
         plan);
}

}  // namespace

bool may_join_late(const FileSettings& settings) {
  return settings.strategy == Strategy::automatic && !keeps_ledger(settings);
}

Plan plan_write(Team& team, Place& place, Wishes wishes) {
  Plan plan;
  Heard heard;
  const Words& mine = wishes.words;
  if (mine.refused == 0 && team.rank() == 0) heard.decision = decide_write(place, wishes);
  const bool starts =
      wishes.starts && joins_nodes(wishes.settings) && mine.bypassed == 0 && mine.incoherent == 0;
  introduce(team, place, wishes, starts, heard, plan);
  if (!plan.ours) return plan;
  const Words& all = heard.words;
  const auto members = static_cast<std::uint32_t>(plan.one_node ? team.size() : 0);
  const bool others_may_write = !plan.one_node || members != wishes.world;
  Meeting meeting{{}, members, wishes.settings.file, false};
  if (all.bypassed != 0)
    plan.apart = Apart::left_before;
  else if (all.incoherent != 0 && others_may_write)
    plan.apart = Apart::incoherent;
  else if (!plan.one_node)
    plan.apart = plan_meeting(team, place, heard.company, heard.decision, false, meeting);
  if (plan.apart != Apart::no) meeting.routing = {};
  plan.route = meeting.route;
  plan.first_of_node = meeting.first_of_node;
  if (!plan.one_node && plan.apart == Apart::no && all.written == 0) plan.through = heard.decision.through;
  plan.reads_alone = plan.one_node && all.library_reads == 0 && wishes.reads;
  open_everywhere(team, place,
                  {.path = std::move(wishes.path),
                   .group = plan.group,
                   .members = meeting.members,
                   .settings = meeting.settings,
                   .costs = plan.costs,
                   .factors = all.factors,
                   .routing = meeting.routing,
                   .through = plan.through != Through::none,
                   .found = std::move(wishes.found),
                   .named = wishes.named,
                   .leaves_small = true},
                  meeting, plan);
  return plan;
}

Plan plan_read(Team& team, Place& place, Wishes wishes) {
  Plan plan;
  Heard heard;
  Words& mine = wishes.words;
  const bool wanted = mine.refused == 0, first = wanted && team.rank() == 0;
  const Stage asked = joins_nodes(wishes.settings) ? wishes.settings.stage : Stage::none;
  const bool leads = wanted && wishes.leads && asked != Stage::none;
  const Sight sight = leads || first ? place.look(wishes.found) : Sight{};
  wishes.alone = false;  // an agent keeps a file that is only read apart from the same file open for writing
  mine.bytes = sight.bytes;
  mine.unknown = wishes.share == History::unknown ? 1 : 0;
  if (first) {
    mine.stage = static_cast<std::uint64_t>(asked);
    mine.unfit = fits_agents(sight) ? 0 : 1;
    mine.library_reads = sight.remote ? 1 : 0;
    heard.decision = decide(place, wishes.settings, sight);
  }
  // Other nodes need this node's agent only if it is the file server.
  const bool serves = leads && fits_agents(sight) && sight.storage_host == place.host();
  introduce(team, place, wishes, serves, heard, plan);
  if (plan.ours && !plan.one_node) read_on_nodes(team, place, wishes, heard, plan);
  if (!plan.ours || !plan.one_node) return plan;
  plan.ours = plan.reads_alone = heard.words.library_reads == 0;
  if (!plan.ours) return plan;
  OpenRequest request = request_of(wishes, plan);
  request.found = std::move(wishes.found);
  plan.file = place.open(std::move(request));
  return plan;
}

Plan plan_first(Team& team, Place& place, Wishes wishes) {
  Plan plan;
  Heard heard;
  Words& mine = wishes.words;
  const bool writes = (wishes.mode & O_ACCMODE) != O_RDONLY;
  if (!joins_nodes(wishes.settings)) mine.refused = 1;
  mine.ledger = keeps_ledger(wishes.settings.file) ? 1 : 0;
  mine.alike = Same(wishes.alike);
  if (mine.refused == 0 && team.rank() == 0) {
    const bool there = wishes.found.inode() != 0;
    mine.bytes = place.look(wishes.found).bytes;
    mine.stage = static_cast<std::uint64_t>(there ? wishes.settings.stage : Stage::none);
    wishes.settings.file_servers = 1;
    heard.decision = decide(place, wishes.settings, {.storage_host = place.host()});
    heard.decision.on_first = 1;
  }
  introduce(team, place, wishes, false, heard, plan);
  // The agents of several nodes cannot take over a file that an agent already has for its own ranks. If all
  // ranks see the file by its path, it is opened like any other.
  plan.ours = plan.ours && !plan.one_node && (!heard.company.alone || !heard.company.one_file);
  if (!plan.ours) return plan;
  const Words& all = heard.words;
  const Stage stage = static_cast<Stage>(all.stage);
  const bool copies = stage != Stage::none && stage != Stage::pieces && all.writable == 0;
  if (!all.alike.everywhere()) {
    plan.error = EINVAL;
  } else if (writes && all.ledger != 0) {
    refuse(
        team, place,
        wishes.path +
            " was not opened: with target=first, durability node and strategy journal are not possible if "
            "the ranks are on several nodes, because the other nodes cannot recover their journals; choose "
            "durability disk and strategy sort",
        ENOTSUP, plan);
  } else if (writes || !copies) {
    open_on_first(team, place, wishes, heard, plan);
  } else {
    plan.copied = wishes.copy(heard.company, {wishes.path, plan.group, false, true, plan.bytes});
    if (!plan.copied) {
      refuse(team, place, "", EIO, plan);
      return plan;
    }
    plan.file = place.open(request_of(wishes, plan));
    (void)plan.file->set_direct({Reason::copy_on_node});
  }
  return plan;
}

}  // namespace millrace::client
