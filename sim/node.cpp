// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "node.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "leftovers.hpp"
#include "seat.hpp"
#include "transport/socket.hpp"

namespace millrace::sim {

using agent::Rounds;
using agent::SenderId;

namespace {

constexpr std::uint64_t first_tag = std::uint64_t{1} << 32;
constexpr std::uint64_t round_ns = 2'000;  // the time of a round, beside its bytes

template <class Message>
std::vector<std::byte> bytes_of(const Message& message) {
  const auto bytes = std::as_bytes(std::span(&message, 1));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

Node::Node(World world, std::uint32_t number, const Scenario& scenario, std::string journals)
    : world_(world),
      number_(number),
      process_(number),
      clock_(world.timeline),
      journals_(std::move(journals)),
      times_(scenario.times),
      share_every_ns_(scenario.share_every_ns),
      write_within_ns_(scenario.write_within_ns),
      ring_bytes_(scenario.ring_bytes),
      cpu_bytes_per_second_(scenario.cpu_bytes_per_second),
      costs_(scenario.costs),
      lines_(scenario.ranks_per_node),
      taken_(scenario.ranks_per_node),
      start_(scenario.start) {
  if (!start_) start();
}

void Node::start() {
  Result<Fd> memory = transport::make_memory("millrace-sim", sizeof(transport::AgentPage));
  if (memory) page_memory_ = *std::move(memory);
  Result<transport::Mapping> mapping = transport::map(page_memory_.get(), sizeof(transport::AgentPage));
  if (mapping) page_ = *std::move(mapping);
  page().shown.number = ++agents_ << 32 | number_;
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
  const auto say = [this](const std::string& line) {
    world_.trace.say(now(), number_, line);
    told_lines_.push_back(line);
  };
  const auto report = [say](const std::string& line) {
    const bool of_file = line.find(R"("kind":"agent_file")") != std::string::npos;
    if (of_file && line.find(R"("error":"")") == std::string::npos) say(line);
  };
  links_ = std::make_unique<agent::Links>(world_.net.of(number_), clock_, watch, say, first_tag, times_);
  core_ = std::make_unique<agent::Core>(world_.disk.of(process_), journals_);
  core_->set_bounds({.write_within_ns = write_within_ns_, .agent = page().shown.number});
  core_->follow(false, false);
  rounds_ = std::make_unique<Rounds>(*core_, *links_, page(), clock_,
                                     Rounds::Ways{[this] { return clock_.now_ns(); }, say, report},
                                     share_every_ns_);
  world_.net.on_change(number_, [this] { plan(now()); });
  world_.disk.of(process_).on_change([this] { plan(now()); });
}

Node::~Node() {
  if (listens()) crash(false);
}

// --- Ranks ---

// Does the work of both sides of the greeting: client/start/start and Server.
Result<client::SessionParts> Node::connect(SenderId& rank) {
  Result<transport::Producer> producer = transport::Producer::create(ring_bytes_);
  if (!producer) return producer.status();
  Result<transport::Consumer> ring = transport::Consumer::attach(Fd(::dup(producer->memory())), ring_bytes_);
  if (!ring) return ring.status();
  Result<transport::Mapping> page = transport::map(page_memory_.get(), sizeof(transport::AgentPage));
  if (!page) return page.status();
  agent::Connection& connection = rounds_->join(Fd());
  rank = connection.id();
  lines_.resize(std::max<std::size_t>(lines_.size(), rank + 1));
  taken_.resize(lines_.size());
  taken_[rank] = {};
  transport::Hello hello{};
  hello.version = transport::protocol_version;
  hello.pid = rank;
  hello.ring_bytes = ring_bytes_;
  connection.greet(*std::move(ring), hello);
  return client::SessionParts{*std::move(producer), *std::move(page), nullptr, 60'000, true, journals_};
}

// The agent starts even if the rank that started it ends before.
void Node::come() {
  coming_ = world_.timeline.after(start_->takes_ns, [this] {
    coming_.reset();
    world_.trace.note(now(), number_, "an agent is there");
    restart();
    admits_at_ns_ = now() + transport::grace_ns;
  });
}

void Node::taken(SenderId rank, Line* line) { lines_[rank] = line; }

// Answers messages on the socket as Server does.
std::vector<std::byte> Node::ask(SenderId rank, std::span<const std::byte> message, int descriptor) {
  agent::Connection* const connection = alive() ? rounds_->find(rank) : nullptr;
  if (connection == nullptr) return {};
  plan(now());
  if (message.size() == sizeof(transport::Meet)) {
    const Result<std::uint16_t> port = links_->listen();
    return bytes_of(transport::Met{port.status(), port ? *port : std::uint16_t{0}, 0});
  }
  if (message.size() == sizeof(transport::Window)) {
    transport::Window window{};
    std::memcpy(&window, message.data(), sizeof window);
    return bytes_of(transport::Windowed{connection->take_window(Fd(::dup(descriptor)), window.bytes)});
  }
  transport::Register registration{};
  if (message.size() != sizeof registration) return {};
  std::memcpy(&registration, message.data(), sizeof registration);
  return bytes_of(rounds_->enroll(*connection, registration, Fd(::dup(descriptor))));
}

void Node::hang_up(SenderId rank) {
  agent::Connection* const connection = alive() ? rounds_->find(rank) : nullptr;
  if (connection == nullptr) return;
  connection->set_gone();
  plan(now());
}

Result<std::uint64_t> Node::size_of(const std::string& path) const {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return Status::from_errno(errno);
  return std::uint64_t{world_.disk.contents(file).size()};
}

// --- Faults ---

void Node::pause(std::uint64_t for_ns) {
  busy_until_ns_ = std::max(busy_until_ns_, now() + for_ns);
  if (planned_) world_.timeline.cancel(*planned_);
  planned_.reset();
  plan(now());
}

// Core may be destroyed with requests in flight: the disk ends them first.
void Node::crash(bool host) {
  world_.disk.crash(process_, host);
  world_.net.crash(number_, host);
  const Leftovers left(world_.disk, journals_, false);
  stop();
  left.restore(journals_);
}

void Node::terminate() {
  if (!alive()) return;
  rounds_->write_out();
  plan(now());
}

void Node::jump(std::uint64_t by_ns) {
  clock_.jump(by_ns);
  plan(now());
  for (Line* const line : lines_) {
    if (line != nullptr) line->seat().jumped();
  }
}

void Node::leave() {
  world_.net.on_change(number_, nullptr);
  world_.disk.of(process_).on_change(nullptr);
  stop();
}

void Node::stop() {
  if (coming_) world_.timeline.cancel(*coming_);
  coming_.reset();
  if (planned_) world_.timeline.cancel(*planned_);
  planned_.reset();
  rounds_.reset();
  core_.reset();
  links_.reset();
  most_in_flight_ = most_in_flight();
}

void Node::restart() {
  for (Line*& line : lines_) {
    if (Line* const old = std::exchange(line, nullptr)) old->cut();
  }
  process_ = world_.disk.start(number_);
  world_.net.restart(number_);
  watched_.clear();
  tags_.clear();
  look_at_.clear();
  told_.clear();
  seen_net_bytes_ = world_.net.bytes_handled(number_);
  seen_disk_bytes_ = seen_records_ = 0;
  busy_until_ns_ = 0;
  slept_ = false;
  start();
}

// --- The loop ---

void Node::plan(std::uint64_t time_ns) {
  if (!alive()) return;
  const std::uint64_t when = std::max({time_ns, busy_until_ns_, now()});
  if (planned_ && planned_->time_ns <= when) return;
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
  for (Line* const line : lines_) {
    if (line != nullptr) line->seat().look();
  }
  if (round == Rounds::Round::idle) return sleep();
  plan(busy_until_ns_ + (round == Rounds::Round::held ? agent::HoldBack::look_ns : 0));
}

void Node::sleep() {
  page().sleeping.store(1);
  slept_ = true;
  const std::uint64_t until = rounds_->deadline_ns();
  if (until != UINT64_MAX) plan(until - std::min(until, clock_.ahead_ns()));
}

// Level triggered, as in epoll: a descriptor that is still ready is reported again.
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

// The costs of the round that ends: for records from rings, and for bytes over the network and to the disk.
std::uint64_t Node::cost_ns() {
  std::uint64_t bytes = 0, records = 0;
  for (SenderId rank = 0; rank < taken_.size(); ++rank) {
    const agent::Connection* const connection = rounds_->find(rank);
    if (connection == nullptr) continue;
    const Taken now_taken{connection->ring().position(), connection->records()};
    bytes += now_taken.bytes - taken_[rank].bytes;
    records += now_taken.records - taken_[rank].records;
    taken_[rank] = now_taken;
  }
  const std::uint64_t carried = links_->records();
  records += carried - std::exchange(seen_records_, carried);
  const std::uint64_t net = world_.net.bytes_handled(number_), disk = world_.disk.of(process_).bytes_asked();
  const std::uint64_t more_ps = records * costs_.record_ps +
                                (net - std::exchange(seen_net_bytes_, net)) * costs_.net_byte_ps +
                                (disk - std::exchange(seen_disk_bytes_, disk)) * costs_.disk_byte_ps;
  return round_ns + io::duration_ns(bytes, cpu_bytes_per_second_) + more_ps / 1000;
}

}  // namespace millrace::sim
