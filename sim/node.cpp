// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "node.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "leftovers.hpp"

namespace millrace::sim {

using agent::ChannelId;
using agent::Rounds;
using transport::Kind;

namespace {

constexpr std::uint64_t first_tag = std::uint64_t{1} << 32;
constexpr std::uint64_t round_ns = 2'000;  // what a round costs, beside what it moves
constexpr std::uint64_t held_ns = 100'000;

transport::Mapping make_page() {
  const Result<Fd> memory = transport::make_memory("millrace-sim", sizeof(transport::AgentPage));
  if (!memory) return {};
  Result<transport::Mapping> page = transport::map(memory->get(), sizeof(transport::AgentPage));
  return page ? *std::move(page) : transport::Mapping();
}

}  // namespace

Node::Node(World world, std::uint32_t number, const Scenario& scenario, std::string journals)
    : world_(world),
      number_(number),
      journals_(std::move(journals)),
      protects_(scenario.settings.strategy == Strategy::journal),
      ring_bytes_(scenario.ring_bytes),
      cpu_bytes_per_second_(scenario.cpu_bytes_per_second),
      costs_(scenario.costs),
      page_(make_page()) {
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
  core_ = std::make_unique<agent::Core>(world.disk.of(number), journals_);
  core_->keep_quiet();
  rounds_ = std::make_unique<Rounds>(*core_, *links_, page(), world.timeline,
                                     Rounds::Ways{[this] { return now(); }, say, [](const std::string&) {}},
                                     scenario.share_every_ns);
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
  Result<transport::Producer> producer = transport::Producer::create(ring_bytes_);
  if (!producer) return producer.status();
  Result<transport::Consumer> ring = transport::Consumer::attach(Fd(::dup(producer->memory())), ring_bytes_);
  if (!ring) return ring.status();
  agent::Connection& connection = rounds_->join(Fd());
  if (connection.id() != rank) return Code::invalid;
  transport::Hello hello{};
  hello.version = transport::protocol_version;
  hello.pid = rank;
  hello.channel_bytes = ring_bytes_;
  connection.greet(*std::move(ring), hello);
  seats_[rank].producer = *std::move(producer);
  const transport::Registered registered = rounds_->enroll(connection, registration, Fd(::dup(file.get())));
  file_ = registered.file;
  protected_ = client::protect(file_, file.get());
  plan(now());
  return registered.status;
}

// As client::Session writes and asks.
bool Node::push(ChannelId rank, const Item& item) {
  Seat& seat = seats_.at(rank);
  transport::Producer& producer = seat.producer;
  transport::FrameHeader frame{};
  transport::ClientCounters counters{};
  const void* payload = item.data.data();
  frame.kind = item.kind;
  frame.file = file_;
  frame.request = item.request;
  frame.offset = item.extent.begin;
  frame.length = static_cast<std::uint32_t>(item.data.size());
  frame.span = item.kind == Kind::write        ? now()
               : item.extent.end == UINT64_MAX ? UINT64_MAX
                                               : item.extent.size();
  if (item.kind == Kind::close) {
    frame.length = sizeof counters;
    payload = &counters;
  }
  if (!producer.append(frame, payload)) {
    producer.publish();
    wake(seat, true);
    seat.wants_room = producer.begin_wait();
    if (seat.wants_room || !producer.append(frame, payload)) return false;
  }
  seat.pushed_bytes += transport::record_bytes(frame.length);
  seat.ends.push_back(seat.pushed_bytes);
  if (item.request != 0) {
    seat.asked = item.request;
    producer.header().requests.fetch_add(1);
  }
  producer.publish();
  if (item.kind == Kind::write) {
    page().files[file_].fresh.fetch_or(transport::places(item.extent));
    page().files[file_].dirty.store(transport::state_dirty);
  }
  wake(seat, item.request != 0);
  return true;
}

bool Node::dirty() const { return page().files[file_].dirty.load() != transport::state_clean; }

bool Node::keeps() const { return dirty() || page().files[file_].kept.load() != 0; }

void Node::wake(Seat& seat, bool urgent) {
  if (!alive() || page().sleeping.load() == 0) return;
  if (!urgent && seat.producer.fill() < transport::wake_threshold(ring_bytes_)) return;
  page().sleeping.store(0);
  plan(now());
}

void Node::leave(ChannelId rank) {
  seats_.erase(rank);
  if (!alive()) return;
  if (agent::Connection* const connection = rounds_->find(rank)) connection->set_gone();
  plan(now());
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
  const Leftovers left(world_.disk, journals_);
  rounds_.reset();
  core_.reset();
  links_.reset();
  left.restore(journals_);
  for (const auto& [rank, seat] : seats_) {
    if (host || !protects_) continue;
    if (const Status saved = client::rescue(seat.producer, protected_, journals_); !saved.ok())
      world_.trace.say(now(), number_, "a rank cannot save its ring: " + saved.describe());
  }
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
  page().sleeping.store(0);
  take_events();
  if (std::exchange(slept_, false)) rounds_->woke();
  const Rounds::Round round = rounds_->go();
  busy_until_ns_ = world_.processors.take(now(), cost_ns());
  look_at_seats();
  if (round == Rounds::Round::idle) return sleep();
  plan(busy_until_ns_ + (round == Rounds::Round::held ? held_ns : 0));
}

void Node::sleep() {
  page().sleeping.store(1);
  slept_ = true;
  const std::uint64_t until = rounds_->deadline_ns();
  if (until != UINT64_MAX) plan(until);
}

// As epoll does, level triggered: what is ready stays to be looked at.
void Node::take_events() {
  const std::vector<int> changed = world_.net.take_changed(number_);
  look_at_.insert(look_at_.end(), changed.begin(), changed.end());
  std::ranges::sort(look_at_);
  look_at_.erase(std::unique(look_at_.begin(), look_at_.end()), look_at_.end());
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

// What futexes would wake.
void Node::look_at_seats() {
  for (auto& [rank, seat] : seats_) {
    const transport::ChannelHeader& header = seat.producer.header();
    const transport::ReplySlot& slot = header.replies[seat.asked % transport::reply_slots];
    if (seat.asked != 0 && slot.done.load() == seat.asked) {
      const Status status{static_cast<Code>(slot.code.load()), slot.error.load()};
      const std::uint32_t request = std::exchange(seat.asked, 0);
      world_.trace.note(now(), number_, "answers: channel request code", rank, request,
                        static_cast<std::uint64_t>(status.code()));
      world_.timeline.after(0, [this, rank = rank, request, status] {
        if (on_answer) on_answer(rank, request, status);
      });
    }
    if (!seat.wants_room || header.producer_waits.load() != 0) continue;
    seat.wants_room = false;
    world_.timeline.after(0, [this, rank = rank] {
      if (on_room) on_room(rank);
    });
  }
}

// Of the round that ends: what it took from rings, and what went over the network and to the disk.
std::uint64_t Node::cost_ns() {
  std::uint64_t bytes = 0, records = 0;
  for (auto& [rank, seat] : seats_) {
    const agent::Connection* const connection = rounds_->find(rank);
    const std::uint64_t position = connection != nullptr ? connection->ring().position() : UINT64_MAX;
    for (; !seat.ends.empty() && seat.ends.front() <= position; seat.ends.pop_front(), ++records)
      bytes += seat.ends.front() - std::exchange(seat.taken_bytes, seat.ends.front());
  }
  const std::uint64_t carried = links_->records();
  records += carried - std::exchange(seen_records_, carried);
  const std::uint64_t net = world_.net.bytes_handled(number_), disk = world_.disk.bytes_asked(number_);
  const std::uint64_t more_ps = records * costs_.record_ps +
                                (net - std::exchange(seen_net_bytes_, net)) * costs_.net_byte_ps +
                                (disk - std::exchange(seen_disk_bytes_, disk)) * costs_.disk_byte_ps;
  return round_ns + io::duration_ns(bytes, cpu_bytes_per_second_) + more_ps / 1000;
}

}  // namespace millrace::sim
