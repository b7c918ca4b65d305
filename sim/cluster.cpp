// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace millrace::sim {

namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr std::uint64_t longest_ns = 10'000 * second_ns;  // that a run may take, and
constexpr std::uint64_t rest_ns = 700 * second_ns;        // ... its agents after the last rank
constexpr std::uint64_t quantum_ps = 50'000'000;  // a rank works so long before others have their turn
constexpr std::uint64_t think_ns = 50'000;

// As client::File asks: what ledgers hold has to be in the file for good before others write there.
transport::Kind kind_of(Step::Kind kind, const FileSettings& settings) {
  switch (kind) {
    case Step::Kind::read:
      return transport::Kind::flush;
    case Step::Kind::sync:
      return transport::Kind::sync;
    case Step::Kind::arrive:
      return keeps_ledger(settings) ? transport::Kind::sync : transport::Kind::arrive;
    default:
      return transport::Kind::close;
  }
}

std::array<std::byte, 32> key_of(std::uint64_t seed) {
  std::array<std::byte, 32> key{};
  std::memcpy(key.data(), &seed, sizeof seed);
  return key;
}

}  // namespace

Cluster::Cluster(const Scenario& scenario, bool keep_trace)
    : scenario_(scenario),
      timeline_(scenario.seed),
      trace_(keep_trace),
      net_(timeline_, trace_, scenario.nodes, scenario.net),
      disk_(timeline_, trace_, scenario.nodes, scenario.disk),
      processors_(scenario.costs.cores),
      file_(disk_.create(folder_.path() + "/file")),
      ranks_(std::size_t{scenario.nodes} * scenario.ranks_per_node) {
  for (std::uint32_t n = 0; n < scenario.nodes; ++n) {
    const std::string journals = folder_.path() + "/" + std::to_string(n);
    std::filesystem::create_directory(journals);
    nodes_.push_back(
        std::make_unique<Node>(World{timeline_, trace_, net_, disk_, processors_}, n, scenario, journals));
    const std::uint32_t first = n * scenario.ranks_per_node;
    nodes_[n]->on_answer = [this, first](agent::ChannelId channel, std::uint32_t request, Status status) {
      answered(ranks_[first + channel], request, status);
    };
    nodes_[n]->on_room = [this, first](agent::ChannelId channel) {
      Rank& rank = ranks_[first + channel];
      if (std::exchange(rank.wants_room, false)) go(rank);
    };
  }
  for (std::uint32_t number = 0; number < ranks_.size(); ++number) {
    Rank& rank = ranks_[number];
    rank.number = number;
    rank.node = number / scenario.ranks_per_node;
    rank.channel = number % scenario.ranks_per_node;
    rank.program = &scenario.programs[number];
  }
}

Cluster::~Cluster() = default;

void Cluster::problem(const std::string& text) {
  if (problems_.size() < most_problems) problems_.push_back(text);
  trace_.note(timeline_.now_ns(), 0, "PROBLEM");
  trace_.say(timeline_.now_ns(), 0, text);
}

std::string Cluster::who(const Rank& rank) const {
  return "rank " + std::to_string(rank.number) + " on node " + std::to_string(rank.node);
}

// What the ranks' MPI_File_open does by collective calls.
bool Cluster::open_all() {
  std::vector<transport::TcpAddress> addresses;
  for (std::uint32_t n = 0; n < scenario_.nodes; ++n)
    addresses.push_back(io::VirtualNet::address_of(n, nodes_[n]->listen()));
  for (Rank& rank : ranks_) {
    transport::Register registration{};
    registration.group = 1;
    registration.members = scenario_.ranks_per_node;
    registration.settings = scenario_.settings;
    if (scenario_.nodes > 1) {
      registration.routing = transport::routing_of(scenario_.plan, addresses, rank.node);
      registration.routing.key = key_of(scenario_.seed);
    }
    std::strcpy(registration.path, "/data/file");  // for reports only
    const Status status = nodes_[rank.node]->open(rank.channel, file_, registration);
    if (!status.ok()) problem(who(rank) + " cannot open the file: " + status.describe());
    if (!status.ok()) return false;
  }
  return true;
}

// --- Ranks ---

void Cluster::go_soon(Rank& rank) {
  timeline_.after(timeline_.below(think_ns), [this, &rank] { go(rank); });
}

void Cluster::go(Rank& rank) {
  while (!rank.over && !rank.gone && !rank.waits() && !rank.at_barrier && !rank.busy) {
    if (pay(rank)) return;
    const Step::Kind kind = rank.now().kind;
    const bool skips = !rank.error.ok() || failed_;
    if (kind == Step::Kind::barrier) {
      meet(rank);
    } else if (skips && kind != Step::Kind::close) {
      rank.write = 0;
      ++rank.step;
    } else if (kind == Step::Kind::write) {
      if (!write(rank)) return;
    } else {
      ask(rank);
    }
  }
}

// True: it works first for what it has done, and goes on then.
bool Cluster::pay(Rank& rank) {
  if (rank.owed_ps < quantum_ps) return false;
  rank.busy = true;
  const std::uint64_t until = processors_.take(timeline_.now_ns(), std::exchange(rank.owed_ps, 0) / 1000);
  timeline_.at(until, [this, &rank] {
    rank.busy = false;
    go(rank);
  });
  return true;
}

// As client::Session does. False: no room.
bool Cluster::write(Rank& rank) {
  if (rank.detached) {
    fail(rank, Code::lost_agent);
    return true;
  }
  const Extent extent = rank.now().extent;
  if (rank.write == 0) {
    rank.write = oracle_.add(rank.number, extent);
    rank.written = 0;
    trace_.note(timeline_.now_ns(), rank.node, "writes: rank offset bytes", rank.number, extent.begin,
                extent.size());
  }
  while (rank.written < extent.size()) {
    const std::uint64_t offset = extent.begin + rank.written;
    const std::uint64_t record_max = scenario_.settings.record_max_bytes;
    const std::uint64_t most = std::min(record_max, transport::max_payload(scenario_.ring_bytes));
    std::uint64_t bytes = std::min(most, extent.end - offset);
    if (extent.end - offset > most && most == record_max) bytes = most - offset % most;
    Item item{transport::Kind::write, 0, {offset, offset + bytes}, std::vector<std::byte>(bytes)};
    oracle_.fill(rank.write, offset, item.data);
    if (!nodes_[rank.node]->push(rank.channel, item)) {
      rank.wants_room = true;
      rank.seen_ns = timeline_.now_ns();
      return false;
    }
    rank.written += bytes;
    rank.owed_ps += scenario_.costs.rank_record_ps + bytes * scenario_.costs.rank_byte_ps;
  }
  oracle_.finish(std::exchange(rank.write, 0));
  ++rank.step;
  return true;
}

void Cluster::ask(Rank& rank) {
  if (rank.detached) {
    fail(rank, Code::lost_agent);
    if (rank.now().kind == Step::Kind::close) end(rank);
    ++rank.step;
    return;
  }
  const bool reads = rank.now().kind == Step::Kind::read;
  if (reads && !nodes_[rank.node]->dirty()) {
    check_read(rank);
    ++rank.step;
    return;
  }
  if (rank.now().kind == Step::Kind::arrive && keeps_ledger(scenario_.settings) &&
      !nodes_[rank.node]->keeps()) {
    ++rank.step;
    return;
  }
  const Item item{kind_of(rank.now().kind, scenario_.settings), rank.next_request++,
                  reads ? rank.now().extent : everything};
  rank.asked = item.request;
  rank.seen_ns = timeline_.now_ns();
  trace_.note(timeline_.now_ns(), rank.node, "asks: rank request kind", rank.number, item.request,
              static_cast<std::uint64_t>(item.kind));
  if (nodes_[rank.node]->push(rank.channel, item)) return;
  rank.asked = 0;
  rank.wants_room = true;
}

void Cluster::answered(Rank& rank, std::uint32_t request, Status status) {
  if (rank.gone || rank.detached) return;
  if (rank.asked == 0 || rank.asked != request)
    return problem(who(rank) + " was answered what it did not ask");
  rank.asked = 0;
  const Step step = rank.now();
  if (!status.ok()) fail(rank, status);
  if (rank.error.ok() && step.kind == Step::Kind::sync) acknowledge(rank, true, true);
  if (rank.error.ok() && step.kind == Step::Kind::close)
    acknowledge(rank, ends_on_disk(scenario_.settings), scenario_.settings.durability != Durability::node);
  if (step.kind == Step::Kind::read) check_read(rank);
  if (step.kind == Step::Kind::close) end(rank);
  ++rank.step;
  go_soon(rank);
}

void Cluster::fail(Rank& rank, Status status) {
  trace_.note(timeline_.now_ns(), rank.node, "is told of an error: rank code", rank.number,
              static_cast<std::uint64_t>(status.code()));
  if (rank.error.ok()) ++errors_;
  if (rank.error.ok()) rank.error = status;
  if (scenario_.benign())
    problem(who(rank) + " was told of an error though nothing failed: " + status.describe());
}

// Its agent has gone, or it gives up waiting.
void Cluster::detach(Rank& rank, Status status) {
  if (rank.over || rank.gone || rank.detached) return;
  nodes_[rank.node]->leave(rank.channel);
  rank.detached = true;
  fail(rank, status);
  const bool asked = rank.asked != 0;
  rank.asked = 0;
  rank.wants_room = false;
  if (asked && rank.now().kind == Step::Kind::close) end(rank);
  go_soon(rank);
}

void Cluster::end(Rank& rank) {
  rank.over = true;
  over_ns_ = timeline_.now_ns();
}

void Cluster::meet(Rank& rank) {
  rank.at_barrier = true;
  release();
}

void Cluster::release() {
  const auto elsewhere = [](const Rank& one) { return !one.gone && !one.over && !one.at_barrier; };
  if (std::ranges::any_of(ranks_, elsewhere)) return;
  failed_ |= std::ranges::any_of(ranks_, [](const Rank& one) { return one.gone || !one.error.ok(); });
  for (Rank& one : ranks_) {
    if (one.gone || !std::exchange(one.at_barrier, false)) continue;
    ++one.step;
    go_soon(one);
  }
}

// A rank whose agent gets nothing done gives up.
void Cluster::watch() {
  for (Rank& rank : ranks_) {
    if (!rank.waits() || rank.gone) continue;
    const std::uint64_t progress = nodes_[rank.node]->progress();
    if (std::exchange(rank.seen_progress, progress) != progress) rank.seen_ns = timeline_.now_ns();
    if (timeline_.now_ns() - rank.seen_ns <= scenario_.patience_ns) continue;
    if (!scenario_.stands_still(rank.node))
      problem(who(rank) + " gave up: its agent did not tell it what is wrong");
    detach(rank, Code::timeout);
  }
  timeline_.after(second_ns, [this] { watch(); });
}

// --- Faults ---

void Cluster::befall(const Fault& fault) {
  trace_.note(timeline_.now_ns(), fault.node, name_of(fault.kind), fault.amount, fault.for_ns, fault.other);
  switch (fault.kind) {
    case FaultKind::slow_disk:
      disk_.slow(fault.amount);
      timeline_.after(fault.for_ns, [this] { disk_.slow(1); });
      return;
    case FaultKind::full_disk:
      return disk_.set_capacity(fault.amount);
    case FaultKind::write_error:
      return disk_.fail(io::Op::write, fault.amount, EIO);
    case FaultKind::sync_error:
      return disk_.fail(io::Op::datasync, fault.amount, EIO);
    case FaultKind::cut:
      net_.cut(fault.node, fault.other);
      timeline_.after(fault.for_ns, [this, fault] { net_.heal(fault.node, fault.other); });
      return;
    case FaultKind::delay:
      net_.delay(fault.node, fault.amount);
      timeline_.after(fault.for_ns, [this, fault] { net_.delay(fault.node, 0); });
      return;
    case FaultKind::pause:
      return nodes_[fault.node]->pause(fault.for_ns);
    case FaultKind::corrupt:
      return net_.corrupt(fault.node);
    case FaultKind::kill_agent:
      return crash(fault.node, false);
    case FaultKind::lose_node:
      return crash(fault.node, true);
  }
}

void Cluster::crash(std::uint32_t node, bool host) {
  crashed_ = true;
  if (nodes_[node]->alive()) nodes_[node]->crash(host);
  for (Rank& rank : ranks_) {
    if (rank.node != node || rank.over) continue;
    if (host) {
      rank.gone = true;
    } else {
      if (scenario_.writes_survive() && !rank.detached) oracle_.acknowledge_finished(rank.number);
      detach(rank, Code::lost_agent);
    }
  }
  release();
}

// --- The run ---

bool Cluster::all_over() const {
  return std::ranges::all_of(ranks_, [](const Rank& rank) { return rank.over || rank.gone; });
}

bool Cluster::all_idle() const {
  return std::ranges::all_of(nodes_, [](const auto& node) { return node->idle(); });
}

// Asks only now and then, for it takes as long as there are ranks.
bool Cluster::step_until(std::uint64_t until_ns, bool (Cluster::*done)() const) {
  while (!(this->*done)()) {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (++steps_ > scenario_.most_steps || !timeline_.step(until_ns)) return (this->*done)();
    }
  }
  return true;
}

Outcome Cluster::run() {
  if (open_all()) {
    for (const Fault& fault : scenario_.faults) timeline_.at(fault.at_ns, [this, fault] { befall(fault); });
    for (Rank& rank : ranks_) go_soon(rank);
    watch();
    if (!step_until(longest_ns, &Cluster::all_over)) {
      for (const Rank& rank : ranks_) {
        if (!rank.over && !rank.gone)
          problem(who(rank) + " does not end: it is at step " + std::to_string(rank.step));
      }
    } else if (!step_until(timeline_.now_ns() + rest_ns, &Cluster::all_idle)) {
      problem("the agents do not come to rest");
    }
    judge();
  }
  return {problems_,
          trace_.hash(),
          trace_.events(),
          over_ns_,
          net_.bytes_moved(),
          errors_,
          static_cast<std::uint32_t>(ranks_.size()),
          trace_.lines()};
}

Outcome run(const Scenario& scenario, bool keep_trace) { return Cluster(scenario, keep_trace).run(); }

}  // namespace millrace::sim
