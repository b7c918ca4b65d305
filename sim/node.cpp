// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "node.hpp"

#include <fcntl.h>
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

template <class Message>
std::vector<std::byte> bytes_of(const Message& message) {
  const auto bytes = std::as_bytes(std::span(&message, 1));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

Node::Node(World& world, std::uint32_t number, const Scenario& scenario, std::string journals)
    : world_(world),
      number_(number),
      process_(number),
      clock_(world.timeline),
      journals_(std::move(journals)),
      scenario_(scenario),
      costs_(scenario.costs, scenario.agents.cpu_bytes_per_second),
      watches_(world.net, number),
      lines_(scenario.ranks_per_node) {
  if (!scenario.agents.start) start();
}

void Node::start() {
  Result<Fd> memory = transport::make_memory("millrace-sim", sizeof(transport::AgentPage));
  if (memory) page_memory_ = *std::move(memory);
  Result<transport::Mapping> mapping = transport::map(page_memory_.get(), sizeof(transport::AgentPage));
  if (mapping) page_ = *std::move(mapping);
  page().shown.number = ++agents_ << 32 | number_;
  const auto watch = [this](int descriptor, std::uint32_t events, std::uint64_t tag) {
    watches_.watch(descriptor, events, tag);
  };
  const auto say = [this](const std::string& line) {
    world_.say(number_, line);
    told_lines_.push_back(line);
  };
  const auto report = [say](const std::string& line) {
    const bool of_file = line.find(R"("kind":"agent_file")") != std::string::npos;
    if (of_file && line.find(R"("error":"")") == std::string::npos) say(line);
  };
  const auto now_ns = [this] { return clock_.now_ns(); };
  agent_ = std::make_unique<Agent>(*this, watch, Rounds::Ways{now_ns, say, report, now_ns});
  world_.net.on_change(number_, [this] { plan(now()); });
  world_.disk.of(process_).on_change([this] { plan(now()); });
}

Node::Agent::Agent(Node& node, agent::Loop::WatchSocket watch, const Rounds::Ways& ways)
    : links(node.world_.net.of(node.number_), node.clock_, std::move(watch), ways.log, first_tag,
            node.scenario_.agents.times),
      core(node.world_.disk.of(node.process_), node.journals_),
      rounds(core, links, node.page(), node.clock_, ways, node.scenario_.agents.share_every_ns) {
  core.set_bounds(
      {.write_within_ns = node.scenario_.agents.write_within_ns, .agent = node.page().shown.number});
  core.follow(false, false);
}

Node::~Node() {
  if (named()) crash(false);
}

// --- Ranks ---

// Does the work of both sides of the greeting: client/start/start and Server.
Result<std::unique_ptr<client::Session>> Node::connect(Seat& seat, std::uint64_t timeout_ms) {
  Result<transport::Producer> producer = transport::Producer::create(scenario_.ranks.ring_bytes);
  if (!producer) return producer.status();
  Result<transport::Consumer> ring =
      transport::Consumer::attach(Fd(::dup(producer->memory())), scenario_.ranks.ring_bytes);
  if (!ring) return ring.status();
  Result<transport::Mapping> page = transport::map(page_memory_.get(), sizeof(transport::AgentPage));
  if (!page) return page.status();
  agent::Connection& connection = agent_->rounds.join(Fd());
  const SenderId rank = connection.id();
  lines_.resize(std::max<std::size_t>(lines_.size(), rank + 1));
  costs_.join(rank);
  transport::Hello hello{};
  hello.version = transport::protocol_version;
  hello.pid = rank;
  hello.ring_bytes = scenario_.ranks.ring_bytes;
  connection.greet(*std::move(ring), hello);
  client::SessionParts parts{*std::move(producer),
                             *std::move(page),
                             std::make_unique<Line>(seat, rank),
                             timeout_ms,
                             true,
                             journals_};
  parts.slice_ms = scenario_.ranks.slice_ms;
  return std::make_unique<client::Session>(std::move(parts));
}

// The agent starts even if the rank that started it ends before.
void Node::come() {
  coming_ = world_.timeline.after(scenario_.agents.start->takes_ns, [this] {
    coming_.reset();
    world_.note(number_, "an agent is there");
    restart();
    admits_at_ns_ = now() + transport::grace_ns;
  });
}

void Node::taken(SenderId rank, Line* line) { lines_[rank] = line; }

// Answers messages on the socket as Server does.
std::vector<std::byte> Node::ask(SenderId rank, std::span<const std::byte> message, int descriptor) {
  agent::Connection* const connection = alive() ? agent_->rounds.find(rank) : nullptr;
  if (connection == nullptr) return {};
  plan(now());
  if (message.size() == sizeof(transport::Meet)) {
    const Result<std::uint16_t> port = agent_->links.listen();
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
  return bytes_of(agent_->rounds.enroll(*connection, registration, Fd(::dup(descriptor))));
}

void Node::hang_up(SenderId rank) {
  agent::Connection* const connection = alive() ? agent_->rounds.find(rank) : nullptr;
  if (connection == nullptr) return;
  connection->set_gone();
  plan(now());
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
  const std::vector<Leftover> left = find_leftovers(world_.disk, journals_, false);
  stop();
  restore(left, journals_);
}

void Node::terminate() {
  if (!alive()) return;
  agent_->rounds.write_out();
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
  agent_.reset();
  most_in_flight_ = most_in_flight();
}

void Node::restart() {
  for (Line*& line : lines_) {
    if (Line* const old = std::exchange(line, nullptr)) old->cut();
  }
  process_ = world_.disk.start(number_);
  world_.net.restart(number_);
  watches_.clear();
  costs_.restart(world_.net.bytes_handled(number_));
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
  for (const auto& [tag, events] : watches_.ready()) agent_->links.handle(tag, events);
  if (std::exchange(slept_, false)) agent_->rounds.woke();
  const Rounds::Round round = agent_->rounds.go();
  busy_until_ns_ =
      world_.end_of(costs_.round_ns(agent_->rounds, agent_->links, world_.net.bytes_handled(number_),
                                    world_.disk.of(process_).bytes_asked()));
  for (Line* const line : lines_) {
    if (line != nullptr) line->seat().look();
  }
  if (round == Rounds::Round::idle) return sleep();
  plan(busy_until_ns_ + (round == Rounds::Round::held ? agent::HoldBack::look_ns : 0));
}

void Node::sleep() {
  page().sleeping.store(1);
  slept_ = true;
  const std::uint64_t until = agent_->rounds.deadline_ns();
  if (until != UINT64_MAX) plan(until - std::min(until, clock_.ahead_ns()));
}

}  // namespace millrace::sim
