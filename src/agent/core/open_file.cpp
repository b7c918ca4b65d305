// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/core/open_file.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "io/posix/descriptor.hpp"
#include "journal/folder.hpp"

namespace millrace::agent {

namespace {

constexpr std::uint64_t show_every_ns = 250'000'000;
// While the agent or its ranks may write to the target. recovery/state.hpp allows for it.
constexpr std::uint64_t sign_every_ns = 1'000'000'000;

// A descriptor of the target; for the last who needs one, the target's own.
Result<Fd> take(Fd& target, bool last) {
  if (last) return std::move(target);
  return io::duplicate(target);
}

// nullptr for a file of one node, and for a copy.
Result<std::unique_ptr<Reads>> open_reads(Shared& shared, Fd own, FilePipeline& pipeline, bool routed,
                                          bool keeps) {
  if (!routed || keeps) return std::unique_ptr<Reads>();
  if (pipeline.carries()) return Reads::of_next(pipeline);
  return Reads::of_file(shared, std::move(own));
}

}  // namespace

Result<std::unique_ptr<OpenFile>> OpenFile::open(Shared& shared, Fd& target, const FileIdentity& identity,
                                                 const transport::Register& registration, Route route,
                                                 const std::vector<Sender>& senders) {
  auto file = std::make_unique<OpenFile>();
  file->identity = identity;
  file->closings = std::make_unique<Closings>(shared.storage, shared.next_owner++);
  file->reads_only = registration.reads_only != 0;
  const auto end = std::find(std::begin(registration.path), std::end(registration.path), '\0');
  file->path.assign(std::begin(registration.path), end);
  file->asked = registration.settings;
  file->stripe_bytes = route.stripe_bytes;
  if (!route.lanes.empty() && registration.routing.nodes > 1) {
    file->node = registration.routing.node;
    file->nodes = registration.routing.nodes;
    file->topology = registration.routing.topology;
  }
  const bool routed = !route.lanes.empty();
  if (!routed) route.lanes.emplace_back();
  // All bytes of a chunk have the same file server.
  if (route.lanes.size() > 1 &&
      (!std::has_single_bit(route.stripe_bytes) || route.stripe_bytes < shared.pool->chunk_bytes()))
    return Code::invalid;
  file->join(shared, target, registration);
  for (LaneRoute& way : route.lanes) {
    way.device = identity.device;
    // An agent that only reads comes when it needs bytes, perhaps never.
    const std::uint32_t upstreams = file->reads_only ? 0 : way.upstreams;
    const bool last = &way == &route.lanes.back();
    const bool keeps = way.keeps, serves = way.next == nullptr, writes = serves || keeps;
    const bool reads_it = routed && serves && !keeps;
    Result<Fd> to_write = writes ? take(target, last && !reads_it) : Fd();
    Result<Fd> to_read = reads_it ? take(target, last) : Fd();
    if (!to_write || !to_read) return to_write ? to_read.status() : to_write.status();
    auto pipeline = FilePipeline::open(shared, *std::move(to_write), file->asked, std::move(way));
    if (!pipeline) return pipeline.status();
    auto reads = open_reads(shared, *std::move(to_read), **pipeline, routed, keeps);
    if (!reads) return reads.status();
    file->lanes.push_back(std::make_unique<Lane>(*std::move(pipeline), *std::move(reads), senders, upstreams,
                                                 file->reads_only));
  }
  return file;
}

void OpenFile::write_striped(std::uint64_t offset, std::span<const std::byte> data) {
  do {
    const std::uint64_t stripe = offset / stripe_bytes;
    const std::size_t size = std::min<std::uint64_t>(data.size(), (stripe + 1) * stripe_bytes - offset);
    lanes[stripe % lanes.size()]->pipeline->write(offset, data.first(size));
    offset += size;
    data = data.subspan(size);
  } while (!data.empty());
}

std::vector<std::vector<ReadPiece>> OpenFile::deal(std::span<const Extent> extents) const {
  std::vector<std::vector<ReadPiece>> dealt(lanes.size());
  std::uint32_t position = 0;
  for (Extent left : extents) {
    while (!left.empty()) {
      const std::uint64_t stripe = lanes.size() > 1 ? left.begin / stripe_bytes : 0;
      const std::uint64_t end = lanes.size() > 1 ? std::min(left.end, (stripe + 1) * stripe_bytes) : left.end;
      const auto length = static_cast<std::uint32_t>(end - left.begin);
      dealt[stripe % lanes.size()].push_back({left.begin, length, position});
      position += length;
      left.begin = end;
    }
  }
  return dealt;
}

void OpenFile::write_out(Lane& lane) {
  if (!ledger || ledger->state() != Ledger::State::works) lane.pipeline->depart(everything);
}

void OpenFile::complete(const io::Completion& completion) {
  if (ledger) {
    ledger->complete(completion);
    const Status removed = ledger->removal();
    if (removed.code() != Code::timeout) lanes.front()->pipeline->keep(removed);
  }
  lanes.front()->pipeline->keep(closings->complete(completion));
}

bool OpenFile::quiet() const {
  return closings->quiet() && (!ledger || ledger->quiet()) &&
         std::ranges::all_of(lanes, [](const auto& lane) { return lane->quiet(); });
}

void OpenFile::listen(std::uint64_t now_ns) {
  Load target, journals;
  target.add(!closings->quiet(), closings->completions());
  if (ledger) {
    target.add(!ledger->quiet() && !ledger->busy(), 0);  // it looks at the target
    journals.add(ledger->busy(), ledger->completions());
  }
  for (const auto& lane : lanes) {
    target.add(lane->busy(), lane->completions());
    journals.add(lane->pipeline->journal().in_flight(), lane->pipeline->journal().completions());
  }
  silence.target.look(now_ns, target);
  silence.journals.look(now_ns, journals);
}

bool OpenFile::over() const {
  if (!owed_.empty() || (ledger && !ledger->quiet()) || !closings->quiet()) return false;
  return std::ranges::all_of(lanes, [](const auto& lane) { return lane->requests.over() && lane->quiet(); });
}

bool OpenFile::left_by(std::uint64_t group) const {
  if (dirty()) return false;
  return std::ranges::none_of(lanes, [group](const auto& lane) {
    return lane->requests.members().used_by_ranks() || lane->requests.members().knows(group);
  });
}

bool OpenFile::read_by(std::uint64_t group) const {
  return std::ranges::all_of(lanes, [group](const auto& lane) {
    return lane->requests.members().knows(group) && !lane->requests.members().empty();
  });
}

bool OpenFile::takes_routed(std::uint64_t group) const {
  if (routed_groups.empty()) return false;
  const Members& members = lanes.front()->requests.members();
  return !members.used_by_ranks() || routed_groups.contains(group) ||
         std::ranges::any_of(routed_groups, [&](std::uint64_t one) { return members.used_by_ranks_of(one); });
}

Status OpenFile::error() const {
  if (reads_only) return {};
  for (const auto& lane : lanes) {
    if (!lane->pipeline->error().ok()) return lane->pipeline->error();
  }
  return {};
}

bool OpenFile::dirty() const {
  return std::ranges::any_of(lanes, [](const auto& lane) { return lane->pipeline->dirty(); });
}

// --- the ledger ---

// The identity comes from the rank: to ask for a mark is to ask the file system, and the agent's loop must
// not wait for that.
void OpenFile::join(Shared& shared, const Fd& target, const transport::Register& registration) {
  const FileSettings& settings = registration.settings;
  for (const auto& lane : lanes) {
    if (settings.durability > lane->pipeline->settings().durability)
      lane->pipeline->strengthen(settings.durability);
  }
  wants_.disk |= settings.durability == Durability::disk;
  if (!keeps_ledger(settings) || ledger) return;
  const FileIdentity& told = registration.identity;
  const bool sound = told.device == identity.device && told.inode == identity.inode;
  journal::Identity who = journal::identity_of(journal::LogKind::ledger, target,
                                               Result(sound ? told : identity), registration.group);
  who.clock = shared.stamp_clock;
  ledger = std::make_unique<Ledger>(shared, std::move(who), target);
}

bool OpenFile::holds_answers() const {
  return !closings->quiet() || (ledger && ledger->removal().code() == Code::timeout);
}

bool OpenFile::secured() const {
  return closings->quiet() &&
         std::ranges::all_of(lanes, [](const auto& lane) { return lane->pipeline->secured(); });
}

bool OpenFile::answers_from_ledger() const {
  return ledger && !wants_.disk && ledger->state() == Ledger::State::works &&
         lanes.front()->pipeline->settings().durability == Durability::node;
}

void OpenFile::owe(const Reply& reply) {
  const Ledger::Cut cut = ledger->cut();
  if (ledger->stable() < cut.mark) ledger->sync();
  owed_.push_back({reply, cut, false});
}

void OpenFile::owe(const Reply& reply, const Ledger::Cut& cut) {
  if (reply.status.ok()) ledger->forget(cut);
  owed_.push_back({reply, cut, true});
}

// If the ledger fails, a close is answered when the target is secured, as with durability disk. A close waits
// for the end of the ledger before, because it may be an error.
bool OpenFile::due(const Owed& owed) const {
  if (owed.forgets) return ledger->has_forgotten(owed.cut) || !owed.reply.status.ok() || !error().ok();
  if (ledger->removal().code() == Code::timeout) return false;
  if (ledger->state() == Ledger::State::given_up) return secured() || !error().ok();
  return ledger->state() == Ledger::State::works && ledger->stable() >= owed.cut.mark;
}

// A program that opens the file waits for this while no rank has the file open (client/file/ledgers.hpp).
void OpenFile::show_progress(std::uint64_t now_ns) {
  std::uint64_t bytes = 0;
  for (const auto& lane : lanes)
    bytes += lane->pipeline->departures().bytes_out() + lane->pipeline->settlements().settled_puts();
  const bool progress = bytes != shown_.bytes && now_ns - shown_.at_ns >= show_every_ns;
  if (!progress && now_ns < next_sign_ns()) return;
  shown_.bytes = bytes;
  shown_.at_ns = now_ns;
  ledger->show_life(progress);
}

std::uint64_t OpenFile::next_sign_ns() const {
  const bool needed = ledger && !ledger->empty() && ledger->writers() != journal::Writers::nobody;
  return needed ? shown_.at_ns + sign_every_ns : UINT64_MAX;
}

// True if agents of other nodes write to the file too.
bool OpenFile::passes_on() const {
  return nodes > 1 || !routed_groups.empty() ||
         std::ranges::any_of(lanes, [](const auto& lane) { return lane->pipeline->carries(); });
}

journal::Writers OpenFile::writers() const {
  if (passes_on()) return journal::Writers::nodes;
  // Ranks write past the pipeline, unless the strategy forbids it to those that have joined.
  const bool may = past || asked.strategy != Strategy::journal;
  const bool some = std::ranges::any_of(lanes, [may](const auto& lane) {
    return !lane->pipeline->outlet().idle() || !lane->pipeline->departures().empty() ||
           (may && lane->requests.members().used_by_ranks());
  });
  return some ? journal::Writers::owner : journal::Writers::nobody;
}

// True if the records of this node's ranks are safe, and none has been taken since. Records of agents
// upstream do not count: they are not in the ledger, and may not settle while ranks of this node wait for
// room.
bool OpenFile::rescued() const {
  return wants_.rescue && error().ok() &&
         std::ranges::none_of(lanes, [](const auto& lane) { return lane->requests.settles_all(); });
}

bool OpenFile::advance_ledger(std::uint64_t now_ns, std::vector<Reply>& replies) {
  if (!ledger) return false;
  bool moved = false;
  if (ledger->state() == Ledger::State::failing) {
    if (!std::exchange(wants_.rescue, true)) {
      for (const auto& lane : lanes) lane->requests.settle_all();
    }
    if (!error().ok()) ledger->give_up();
  }
  ledger->flush();  // recovery would overwrite newer bytes of the target that the ledger lacks
  if (secured() || rescued()) moved = !ledger->empty() && ledger->clear();
  // Also if only the ledger's own writes are in flight: an open of the file waits for them.
  if (!ledger->empty()) {
    const bool used =
        std::ranges::any_of(lanes, [](const auto& lane) { return lane->requests.members().used_by_ranks(); });
    ledger->say(!used, used || error().ok());
    show_progress(now_ns);
  }
  moved |= std::erase_if(owed_, [&](const Owed& owed) {
             if (!due(owed)) return false;
             replies.push_back(owed.reply);
             if (!error().ok()) replies.back().status = error();
             return true;
           }) > 0;
  return moved;
}

std::string OpenFile::ledger_message() const {
  if (!ledger || !ledger->counts()) return {};
  return path + " lacks bytes that ranks have written: " + error().describe() + "; they are in " +
         ledger->path() + ": repair the file's disk, then run millrace recover";
}

}  // namespace millrace::agent
