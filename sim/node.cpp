// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "node.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace millrace::sim {

using agent::ChannelId;
using transport::Kind;

namespace {

constexpr std::uint64_t first_tag = std::uint64_t{1} << 32;
constexpr std::uint64_t round_ns = 2'000;         // what a round costs, beside what it moves
constexpr std::uint64_t blocked_ns = 10'000'000;  // while there is no room
constexpr std::uint64_t item_bytes = sizeof(transport::FrameHeader);

}  // namespace

Node::Node(World world, std::uint32_t number, const Scenario& scenario)
    : world_(world),
      number_(number),
      ring_bytes_(scenario.ring_bytes),
      cpu_bytes_per_second_(scenario.cpu_bytes_per_second),
      costs_(scenario.costs),
      share_every_ns_(scenario.share_every_ns) {
  const auto watch = [this](int descriptor, std::uint32_t events, std::uint64_t tag) {
    if (events == 0) {
      watched_.erase(tag);
      tags_.erase(descriptor);
    } else {
      watched_.insert_or_assign(tag, Watched{descriptor, events});
      tags_.insert_or_assign(descriptor, tag);
      look_at_.push_back(descriptor);
    }
  };
  const auto say = [this](const std::string& line) { world_.trace.say(now(), number_, line); };
  links_ = std::make_unique<agent::Links>(world.net.of(number), world.timeline, watch, say, first_tag,
                                          scenario.times);
  core_ = std::make_unique<agent::Core>(world.disk.of(number), world.journals);
  core_->keep_quiet();
  world.net.on_change(number, [this] { plan(now()); });
  world.disk.on_change(number, [this] { plan(now()); });
}

Node::~Node() {
  if (alive()) crash(false);
}

std::uint16_t Node::listen() {
  const Result<std::uint16_t> port = links_->listen();
  return port ? *port : 0;
}

Status Node::open(ChannelId rank, const Fd& file, const transport::Register& registration) {
  const auto slot = core_->open(rank, Fd(::dup(file.get())), registration, links_->route_of(registration));
  if (!slot) return slot.status();
  file_ = *slot;
  if (registration.routing.lanes > 0) links_->serve(registration, file_, core_->file_number(file_));
  rings_[rank];
  plan(now());
  return {};
}

bool Node::push(ChannelId rank, Item& item) {
  Ring& ring = rings_[rank];
  if (!ring.items.empty() && ring.bytes + item.data.size() + item_bytes > ring_bytes_) {
    ring.waited_for = true;
    return false;
  }
  item.stamp = next_stamp_++;
  ring.bytes += item.data.size() + item_bytes;
  ring.items.push_back(std::move(item));
  plan(now());
  return true;
}

void Node::leave(ChannelId rank) {
  if (!alive() || rings_.erase(rank) == 0) return;
  forget(rank);
  core_->abandon(rank);
  plan(now());
}

void Node::forget(ChannelId channel) {
  const auto of_channel = [channel](const auto& one) { return one.channel == channel; };
  std::erase_if(fresh_, of_channel);
  std::erase_if(waiting_, of_channel);
  std::erase_if(asked_, of_channel);
}

void Node::pause(std::uint64_t for_ns) {
  busy_until_ns_ = std::max(busy_until_ns_, now() + for_ns);
  if (planned_) world_.timeline.cancel(*planned_);
  planned_.reset();
  plan(now());
}

// Core may be destroyed with requests in flight: the disk ends them first.
void Node::crash(bool host) {
  if (planned_) world_.timeline.cancel(*planned_);
  planned_.reset();
  world_.disk.crash(number_, host);
  world_.net.crash(number_, host);
  core_.reset();
  links_.reset();
}

// --- The loop ---

void Node::plan(std::uint64_t time_ns) {
  if (!alive()) return;
  const std::uint64_t when = std::max({time_ns, busy_until_ns_, now()});
  if (planned_ && planned_->first <= when) return;
  if (planned_) world_.timeline.cancel(*planned_);
  planned_ = world_.timeline.at(when, [this] { round(); });
}

void Node::round() {
  planned_.reset();
  const bool slept = std::exchange(slept_, false);
  const bool disk_is_busy = core_->dirty(file_) || core_->fetching(file_);
  if (slept && !asked_.empty() && !disk_is_busy) ++progress_;
  moved_bytes_ = moved_records_ = 0;
  take_events();
  links_->pump(now());
  const Pass pass = drain();
  bool advanced = core_->advance(now());
  deliver();
  share_progress();
  links_->pump(now());
  advanced |= core_->pass_fetched(*links_);
  busy_until_ns_ = world_.processors.take(now(), cost_ns());
  if (pass == Pass::worked || advanced) {
    ++progress_;
    plan(busy_until_ns_);
  } else {
    sleep();
  }
}

// Of the round that ends.
std::uint64_t Node::cost_ns() {
  const std::uint64_t net = world_.net.bytes_handled(number_), disk = world_.disk.bytes_asked(number_);
  const std::uint64_t carried = links_->records();
  const std::uint64_t records = moved_records_ + carried - std::exchange(seen_records_, carried);
  const std::uint64_t more_ps = records * costs_.record_ps +
                                (net - std::exchange(seen_net_bytes_, net)) * costs_.net_byte_ps +
                                (disk - std::exchange(seen_disk_bytes_, disk)) * costs_.disk_byte_ps;
  return round_ns + io::duration_ns(moved_bytes_, cpu_bytes_per_second_) + more_ps / 1000;
}

void Node::sleep() {
  std::uint64_t until = std::min(core_->next_deadline_ns(), links_->deadline_ns());
  if (!asked_.empty()) until = std::min(until, now() + 2 * share_every_ns_);
  if (pass_open_) until = std::min(until, now() + blocked_ns);
  const bool waits = std::ranges::any_of(rings_, [](const auto& one) { return !one.second.items.empty(); });
  if (!pass_open_ && waits) until = now();
  slept_ = true;
  if (until != UINT64_MAX) plan(until);
}

// As epoll does, level triggered: what is ready stays to be looked at.
void Node::take_events() {
  const std::vector<int> changed = world_.net.take_changed(number_);
  look_at_.insert(look_at_.end(), changed.begin(), changed.end());
  std::ranges::sort(look_at_);
  look_at_.erase(std::ranges::unique(look_at_).begin(), look_at_.end());
  std::erase_if(look_at_, [this](int descriptor) {
    const auto tag = tags_.find(descriptor);
    if (tag == tags_.end()) return true;
    const std::uint32_t wanted = watched_[tag->second].events;
    const io::VirtualNet::Ready ready = world_.net.ready(descriptor);
    std::uint32_t events = 0;
    if (ready.readable) events |= wanted & EPOLLIN;
    if (ready.writable) events |= wanted & EPOLLOUT;
    if (ready.broken) events |= EPOLLERR;
    if (events == 0) return true;
    told_.emplace_back(tag->second, events);
    return false;
  });
  for (const auto& [tag, events] : told_) links_->handle(tag, events);
  told_.clear();
}

// As Server::drain_rings(): requests wait for the end of the next pass, because a ring that was visited
// before may have got older records since.
Node::Pass Node::drain() {
  if (!pass_open_) {
    pass_open_ = true;
    waiting_.swap(fresh_);
    pass_stamp_ = next_stamp_;
  }
  const Pass rings = drain_rings();
  const Pass merged = std::max(rings, drain_links());
  if (merged == Pass::blocked) return merged;
  pass_open_ = false;
  const bool worked = merged == Pass::worked || !waiting_.empty() || !fresh_.empty();
  for (const agent::PendingRequest& request : waiting_) forward(request);
  waiting_.clear();
  return worked ? Pass::worked : Pass::idle;
}

// In the order of their stamps over all rings.
Node::Pass Node::drain_rings() {
  Pass result = Pass::idle;
  for (;;) {
    Ring* oldest = nullptr;
    ChannelId rank = 0;
    for (auto& [id, ring] : rings_) {
      if (ring.items.empty() || ring.items.front().stamp >= pass_stamp_) continue;
      if (oldest != nullptr && oldest->items.front().stamp < ring.items.front().stamp) continue;
      oldest = &ring;
      rank = id;
    }
    if (oldest == nullptr) break;
    Item& item = oldest->items.front();
    if (item.kind == Kind::write && !core_->ready()) return Pass::blocked;
    take(rank, item);
    oldest->bytes -= item.data.size() + item_bytes;
    moved_bytes_ += item.data.size() + item_bytes;
    ++moved_records_;
    oldest->items.pop_front();
    result = Pass::worked;
  }
  for (auto& [id, ring] : rings_) {
    if (!ring.waited_for || ring.bytes > ring_bytes_ / 2) continue;
    ring.waited_for = false;
    world_.timeline.after(0, [this, rank = id] {
      if (on_room) on_room(rank);
    });
  }
  return result;
}

void Node::take(ChannelId rank, Item& item) {
  if (item.kind == Kind::write) return core_->write(rank, file_, item.extent.begin, item.data);
  transport::FrameHeader frame{};
  frame.kind = item.kind;
  frame.file = file_;
  frame.request = item.request;
  frame.offset = item.extent.begin;
  frame.span = item.extent.end == UINT64_MAX ? UINT64_MAX : item.extent.size();
  fresh_.push_back({rank, frame, {}, 0});
}

Node::Pass Node::drain_links() {
  const std::size_t asked = fresh_.size();
  const std::uint64_t before = links_->frames();
  const agent::Drained drained = links_->drain(*core_, fresh_);
  for (const ChannelId ended : links_->take_ended()) forget(ended);
  if (drained == agent::Drained::core_is_full) return Pass::blocked;
  return links_->frames() != before || fresh_.size() != asked ? Pass::worked : Pass::idle;
}

void Node::forward(const agent::PendingRequest& request) {
  const transport::FrameHeader& frame = request.frame;
  if (!rings_.contains(request.channel) && !links_->has(request.channel)) return;  // abandoned meanwhile
  asked_.push_back({request.channel, frame.request});
  const bool whole = frame.span > UINT64_MAX - frame.offset;
  const Extent extent{frame.offset, whole ? UINT64_MAX : frame.offset + frame.span};
  switch (frame.kind) {
    case Kind::flush:
      return core_->flush(request.channel, frame.file, frame.request, extent);
    case Kind::fetch:
      return core_->fetch(request.channel, frame.file, frame.request, extent);
    case Kind::arrive:
      return core_->arrive(request.channel, frame.file, frame.request);
    case Kind::sync:
      return core_->sync(request.channel, frame.file, frame.request);
    default:
      return core_->close(request.channel, frame.file, frame.request, request.counters);
  }
}

void Node::deliver() {
  for (const agent::Reply& reply : core_->take_replies()) {
    std::erase_if(asked_, [&reply](const Asked& one) {
      return one.channel == reply.channel && one.request == reply.request;
    });
    world_.trace.note(now(), number_, "answers: channel request code", reply.channel, reply.request,
                      static_cast<std::uint64_t>(reply.status.code()));
    if (links_->answer(reply.channel, reply.request, reply.status)) continue;
    world_.timeline.after(0, [this, reply] {
      if (on_answer) on_answer(reply.channel, reply.request, reply.status);
    });
  }
  for (const std::string& message : core_->take_messages()) world_.trace.say(now(), number_, message);
  (void)core_->take_reports();
}

// Progress goes up the links to the ranks that wait for it.
void Node::share_progress() {
  if (links_->progress() != heard_progress_) {
    heard_progress_ = links_->progress();
    ++heard_steps_;
    ++progress_;
  }
  if (now() - shared_ns_ < share_every_ns_) return;
  const std::uint64_t own = progress_ - heard_steps_;
  if (own == shared_progress_ && shared_heard_ == heard_progress_) return;
  shared_ns_ = now();
  shared_heard_ = heard_progress_;
  links_->show_progress(std::exchange(shared_progress_, own) != own);
}

}  // namespace millrace::sim
