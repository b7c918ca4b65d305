// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/server/rounds.hpp"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "agent/pipeline/departures.hpp"
#include "agent/requests/gathering.hpp"
#include "transport/stamp.hpp"

namespace millrace::agent {

namespace {

// While the agent reads no rings, their ranks look silent to a sync.
static_assert(HoldBack::longest_ns + Departures::storage_slow_ns < Gathering::silence_ns);

// A rank cannot write a file without permission because another rank has permission.
bool writable(const Fd& target) {
  const int mode = target.valid() ? ::fcntl(target.get(), F_GETFL) : -1;
  return mode >= 0 && (mode & O_ACCMODE) != O_RDONLY;
}

bool sane(const transport::Register& registration, const Fd& target) {
  constexpr const SettingRule& buffers = rule_of("sort_buffer");
  const std::uint64_t buffer = registration.settings.sort_buffer_bytes;
  return sound_record_max(registration.settings) && buffer >= buffers.least && buffer <= buffers.most &&
         (registration.reads_only != 0 || writable(target));
}

// Brings bytes to the senders that asked for them: over a link, or into a rank's window, which has room for
// all that its rank asks for.
class Delivery final : public ReadTaker {
 public:
  Delivery(const Rounds& rounds, Links& links) : rounds_(rounds), links_(links) {}

  bool has_room(SenderId sender) const override {
    return rounds_.find(sender) != nullptr || links_.has_room(sender);
  }
  void wanted(SenderId sender, std::uint32_t request, std::uint32_t position,
              std::span<const std::byte> bytes) override {
    Connection* const rank = rounds_.find(sender);
    if (rank == nullptr) return links_.wanted(sender, request, position, bytes);
    rank->put_wanted(request, position, bytes);
  }

 private:
  const Rounds& rounds_;
  Links& links_;
};

}  // namespace

Rounds::Rounds(Core& core, Links& links, transport::AgentPage& page, const io::Clock& clock, Ways ways,
               std::uint64_t share_every_ns)
    : core_(core),
      links_(links),
      clock_(clock),
      ways_(std::move(ways)),
      states_(page),
      progress_(links, page, share_every_ns) {}

// --- Ranks ---

Connection& Rounds::join(Fd socket) {
  const SenderId id = numbers_.take();
  return *connections_.emplace(id, std::make_unique<Connection>(id, std::move(socket))).first->second;
}

Connection* Rounds::find(SenderId id) const {
  const auto found = connections_.find(id);
  return found == connections_.end() ? nullptr : found->second.get();
}

transport::Registered Rounds::enroll(Connection& connection, const transport::Register& registration,
                                     Fd target) {
  transport::Registered answer{Code::invalid, 0};
  // A file that is only read never has pending bytes, so no rank looks for it in the page.
  const bool reads = registration.reads_only != 0;
  if (!target.valid()) answer.status = Code::no_memory;  // the agent had no descriptor for it
  if (!target.valid() || !sane(registration, target)) return answer;
  Result<FileSlot> slot =
      core_.open(connection.id(), std::move(target), registration, links_.route_of(registration));
  answer.status = slot.status();
  if (!slot) return answer;
  answer.file = *slot;
  connection.allow(*slot, registration.settings.record_max_bytes,
                   registration.settings.strategy == Strategy::journal, registration.reads_only == 0);
  if (registration.routing.lanes > 0) links_.serve(registration, *slot, core_.file_number(*slot));
  FileIdentity identity = core_.look(*slot).identity;
  identity.mark = registration.identity.mark;
  states_.opened(*slot, reads ? transport::FileNumbers() : transport::numbers_of(identity),
                 reads ? transport::Routing{} : registration.routing, core_);
  return answer;
}

void Rounds::drop(SenderId id, const std::string& why) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  if (!why.empty()) ways_.log("drops rank process " + std::to_string(found->second->pid()) + ": " + why);
  for (const FileSlot file : found->second->files()) states_.closed(file);
  if (found->second->greeted()) core_.abandon(id);
  forget(id);
  connections_.erase(found);
  numbers_.give_back(id);
}

bool Rounds::drop_silent(std::uint32_t calls) {
  std::vector<SenderId> silent;
  bool any = false;
  for (auto& [id, connection] : connections_) {
    if (connection->greeted()) continue;
    any = true;
    connection->look();
    if (connection->looks() > calls) silent.push_back(id);
  }
  for (const SenderId id : silent) drop(id, "it sent no greeting in time");
  return any;
}

// --- Rounds ---

Rounds::Round Rounds::go() {
  links_.pump(clock_.now_ns());
  const Pass pass = drain();
  if (!pass_open_ && write_out_ == WriteOut::in_this_pass) {
    write_out_ = WriteOut::no;
    core_.write_out();
  }
  const std::uint64_t now_ns = clock_.now_ns();
  bool advanced = core_.advance(now_ns);
  deliver();
  progress_.share(now_ns);
  links_.pump(now_ns);
  Delivery delivery(*this, links_);
  advanced |= core_.pass_read(delivery);
  if (pass == Pass::held) return Round::held;
  if (pass != Pass::worked && !advanced) return Round::idle;
  progress_.made();
  return Round::worked;
}

std::uint64_t Rounds::deadline_ns() const {
  const std::uint64_t now_ns = clock_.now_ns();
  std::uint64_t until = std::min(core_.next_deadline_ns(), links_.deadline_ns());
  // While a rank waits, for an answer or for room in its ring, the agent shows twice a second that it lives.
  // Otherwise the rank would give up.
  if (ranks_wait()) until = std::min(until, now_ns + 2 * progress_.every_ns());
  // A rank that writes little does not wake the agent.
  if (std::ranges::any_of(connections_, [](const auto& entry) { return entry.second->writes(); })) {
    const std::uint64_t every_ns = core_.look_every_ns();
    if (every_ns < UINT64_MAX - now_ns) until = std::min(until, now_ns + every_ns);
  }
  if (!pass_open_ && something_waits()) until = now_ns;
  return until;
}

void Rounds::woke() {
  const bool storage_is_busy = std::ranges::any_of(asked_, [this](const auto& entry) {
    const FileSlot file = entry.second.file;
    return core_.dirty(file) || core_.keeps(file) || core_.look(file).reading;
  });
  if ((asked() && !storage_is_busy) || (ranks_wait() && states_.waits())) progress_.turned();
}

// A pass takes the frames in the snapshots that begin_pass() has made of all rings. Its requests wait for the
// end of the next pass, because a rank may have published older records after the snapshot of its ring.
Rounds::Pass Rounds::drain() {
  if (!pass_open_) {
    if (hold_back()) return Pass::held;
    begin_pass();
  }
  // Two statements, because the arguments of one call have no order.
  const Pass of_links = drain_links();
  const Pass merged = std::max(of_links, drain_rings());
  for (const FileSlot file : damaged_) states_.damaged(file);
  damaged_.clear();
  for (const auto& [id, why] : broken_) drop(id, why);
  broken_.clear();
  if (merged == Pass::blocked) {
    forward_of_agents();
    return Pass::blocked;
  }
  pass_open_ = false;
  states_.end_drain();
  const bool worked = merged == Pass::worked || !waiting_.empty() || !fresh_.empty();
  for (const PendingRequest& request : waiting_) forward(request);
  waiting_.clear();
  drop_gone();
  return worked ? Pass::worked : Pass::idle;
}

void Rounds::begin_pass() {
  pass_open_ = true;
  waiting_.swap(fresh_);
  if (write_out_ == WriteOut::in_next_pass) write_out_ = WriteOut::in_this_pass;
  if (!waiting_.empty() || write_out_ != WriteOut::no) states_.begin_drain();
  pass_stamp_ = ways_.stamp();
  ++pass_;
  std::vector<SenderId> broken;
  for (auto& [id, connection] : connections_) {
    if (connection->greeted() && !connection->ring().snapshot()) broken.push_back(id);
  }
  for (const SenderId id : broken) drop(id, "its ring has invalid positions");
}

// False while a request waits.
bool Rounds::hold_back() {
  if (!waiting_.empty() || !fresh_.empty()) {
    hold_.stop();
    return false;
  }
  const Core::Partial partial = core_.partial();
  if (!hold_.worth_it(partial.blocks, partial.many)) return false;
  std::uint64_t fill = 0;
  bool all_wait = true;
  for (const auto& [id, connection] : connections_) {
    if (!connection->greeted() || connection->gone()) continue;
    fill += connection->ring().fill();
    all_wait = all_wait && (connection->ring().producer_waits() || connection->ring().has_request());
  }
  return hold_.now(clock_.now_ns(), partial.blocks + partial.many, fill, all_wait);
}

// Takes records in the order of their stamps over all rings, up to the time at which the pass began. A record
// that was written before a record of the pass, in any ring, was published before that time. It is in the
// snapshot too, so no record overtakes one that it followed.
//
// A record that the pass before has left was published before this pass began. If its stamp is still in the
// future, the rank's clock is ahead of the agent's, so nothing can be learnt from it: the ring is taken last.
Rounds::Pass Rounds::drain_rings() {
  const auto later = [](const Turn& a, const Turn& b) { return a.stamp > b.stamp; };
  turns_.clear();
  for (auto& [id, connection] : connections_) {
    if (!connection->greeted() || connection->ring().empty()) continue;
    const std::uint64_t stamp = connection->next_stamp();
    if (stamp <= pass_stamp_) {
      turns_.push_back({stamp, connection.get(), false});
    } else if (connection->leave(stamp, pass_)) {
      turns_.push_back({pass_stamp_, connection.get(), true});
    }
  }
  if (turns_.empty()) return Pass::idle;
  std::make_heap(turns_.begin(), turns_.end(), later);
  Pass result = Pass::worked;
  while (!turns_.empty() && result == Pass::worked) {
    std::pop_heap(turns_.begin(), turns_.end(), later);
    Connection& connection = *turns_.back().connection;
    const bool all = turns_.back().all;
    turns_.pop_back();
    std::uint64_t until =
        turns_.empty() ? pass_stamp_ : std::min(pass_stamp_, turns_.front().stamp + transport::stamp_quantum);
    if (all) until = UINT64_MAX;
    std::string why;
    const Drained drained = connection.drain(core_, until, fresh_, damaged_, why);
    if (drained == Drained::broken) {
      broken_.emplace_back(connection.id(), why);
    } else if (drained == Drained::core_is_full) {
      result = Pass::blocked;
    } else if (!connection.ring().empty()) {
      const std::uint64_t stamp = connection.next_stamp();
      if (stamp > pass_stamp_) continue;
      turns_.push_back({stamp, &connection, false});
      std::push_heap(turns_.begin(), turns_.end(), later);
    }
  }
  for (auto& [id, connection] : connections_) {
    if (connection->greeted()) connection->ring().release();
  }
  return result;
}

// Takes the records of upstream agents in the order of arrival. If ranks of different nodes write the same
// bytes, a flush lies between the writes (order_between_nodes() in the front end), or they have no order.
Rounds::Pass Rounds::drain_links() {
  const std::size_t asked = fresh_.size();
  const std::uint64_t before = links_.frames();
  const Drained drained = links_.drain(core_, fresh_);
  for (const SenderId ended : links_.take_ended()) forget(ended);
  if (drained == Drained::core_is_full) return Pass::blocked;
  return links_.frames() != before || fresh_.size() != asked ? Pass::worked : Pass::idle;
}

// A request of a sender that has gone must not count as a request of the next sender with its number.
// FileStates counts an open of a rank until the answer to its close.
void Rounds::forget(SenderId sender) {
  const bool rank = connections_.contains(sender);
  const auto pending = [&](const PendingRequest& one) {
    const bool its = one.sender == sender;
    if (its && rank && one.frame.kind == transport::Kind::close) states_.closed(one.frame.file);
    return its;
  };
  std::erase_if(fresh_, pending);
  std::erase_if(waiting_, pending);
  for (auto its = asked_.lower_bound({sender, 0}); its != asked_.end() && its->first.first == sender;
       its = asked_.erase(its)) {
    if (its->second.closes) states_.closed(its->second.file);
  }
  std::erase_if(replies_, [sender](const Reply& reply) { return reply.sender == sender; });
}

// Ranks that have hung up leave when their rings are empty.
void Rounds::drop_gone() {
  std::vector<SenderId> gone;
  for (auto& [id, connection] : connections_) {
    const bool empty = !connection->greeted() || connection->ring().fill() == 0;
    if (connection->gone() && empty) gone.push_back(id);
  }
  for (const SenderId id : gone) drop(id, "");
}

// Forwards requests of agents although the pass is blocked. Core has the records that these requests cover,
// because they came first on the same link. The rings may stay blocked until the agents have their answers:
// nodes whose ledgers fail wait until other nodes have settled their records.
void Rounds::forward_of_agents() {
  for (std::vector<PendingRequest>* const requests : {&waiting_, &fresh_}) {
    const auto rest = std::stable_partition(
        requests->begin(), requests->end(),
        [this](const PendingRequest& one) { return !connections_.contains(one.sender); });
    std::for_each(requests->begin(), rest, [this](const PendingRequest& one) { forward(one); });
    requests->erase(requests->begin(), rest);
  }
}

void Rounds::forward(const PendingRequest& request) {
  const auto& [sender, frame, counters, position, wanted] = request;
  const bool rank = connections_.contains(sender);
  if (!rank && !links_.has(sender)) return;  // it has gone meanwhile
  asked_.emplace(std::pair(sender, frame.request),
                 Unanswered{frame.file, rank && frame.kind == transport::Kind::close, position});
  const bool whole = frame.span > UINT64_MAX - frame.offset;
  const Extent extent{frame.offset, whole ? UINT64_MAX : frame.offset + frame.span};
  if (frame.kind == transport::Kind::close) {
    core_.close(sender, frame.file, frame.request, counters, extent.empty());
  } else if (frame.kind == transport::Kind::want) {
    core_.want(sender, frame.file, frame.request, wanted);
  } else {
    core_.ask(frame.kind, sender, frame.file, frame.request, extent);
  }
}

void Rounds::deliver() {
  const Core::News news = core_.take_news();
  for (const std::string& message : news.messages) ways_.log(message);
  states_.tell(news);
  states_.refresh(core_);
  for (auto& [id, connection] : connections_) connection->give_back(core_);
  for (const Reply& reply : core_.take_replies()) replies_.push_back(reply);
  std::vector<Reply> early;
  for (const Reply& reply : replies_) {
    const auto asked = asked_.find({reply.sender, reply.request});
    Status status = reply.status;
    const auto found = connections_.find(reply.sender);
    if (asked != asked_.end()) {
      // After this answer, a rescue of the ring must not bring back the records that the request covers.
      if (found != connections_.end() &&
          found->second->keeps_before(asked->second.file, asked->second.position)) {
        early.push_back(reply);
        continue;
      }
      status = states_.status(asked->second.file, status);
      if (asked->second.closes) {
        states_.closed(asked->second.file);
        progress_.worked(news, ways_.worked_ns());
      }
      asked_.erase(asked);
    }
    if (links_.answer(reply.sender, reply.request, status)) continue;
    if (found == connections_.end()) continue;
    found->second->end_want(reply.request);
    found->second->ring().answer(reply.request, status);
  }
  replies_.swap(early);
  for (const std::string& report : news.reports) ways_.report(report);
}

// True if a rank would have woken the agent if the agent had slept.
bool Rounds::something_waits() const {
  return std::any_of(connections_.begin(), connections_.end(), [](const auto& entry) {
    const Connection& connection = *entry.second;
    return connection.greeted() &&
           (connection.ring().has_request() || (connection.gone() && connection.ring().fill() > 0) ||
            connection.ring().fill() >= transport::wake_threshold(connection.ring_bytes()));
  });
}

}  // namespace millrace::agent
