// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "times.hpp"

namespace millrace::sim {

namespace {

constexpr std::uint64_t rest_ns = 700 * second;      // of the agents, after the last rank
constexpr std::uint64_t short_rest_ns = 5 * second;  // ... if there was no fault
// The time from a write until its bytes are in the file without a request: the agents' bound, and the disks'
// time.
constexpr std::uint64_t old_ns = 25 * second;

// The error of a disk, or of a file server that does not answer.
int errno_of(const Fault& fault) { return fault.amount % 2 == 0 ? EIO : ETIMEDOUT; }

}  // namespace

Cluster::Cluster(const Scenario& scenario, bool keep_trace)
    : scenario_(scenario),
      timeline_(scenario.seed),
      trace_(keep_trace),
      net_(timeline_, trace_, scenario.nodes, scenario.net),
      disk_(timeline_, trace_, scenario.nodes, scenario.disk),
      processors_(scenario.costs.cores),
      path_(folder_.path() + "/file"),
      file_(disk_.create(path_)),
      ranks_(std::size_t{scenario.nodes} * scenario.ranks_per_node) {
  for (std::uint32_t n = 0; n < scenario.nodes; ++n) {
    const std::string journals = folder_.path() + "/" + std::to_string(n);
    std::filesystem::create_directory(journals);
    nodes_.push_back(std::make_unique<Node>(world(), n, scenario_, journals));
  }
  for (std::uint32_t number = 0; number < ranks_.size(); ++number) {
    Rank& rank = ranks_[number];
    rank.number = number;
    rank.node = number / scenario.ranks_per_node;
    rank.program = &scenario_.programs[number];
  }
}

Cluster::~Cluster() {
  for (Rank& rank : ranks_) vanish(rank);
}

void Cluster::problem(const std::string& text) {
  if (problems_.size() < most_problems) problems_.push_back(text);
  trace_.note(timeline_.now_ns(), 0, "PROBLEM");
  trace_.say(timeline_.now_ns(), 0, text);
}

std::string Cluster::who(const Rank& rank) const {
  return "rank " + std::to_string(rank.number) + " on node " + std::to_string(rank.node);
}

Settings Cluster::settings_of(std::uint32_t node) const {
  Settings settings = scenario_.ranks.settings;
  settings.timeout_ms = scenario_.ranks.patience_ns / ms;
  settings.journal_directory = nodes_[node]->journals();
  return settings;
}

bool Cluster::connect_all() {
  for (Rank& rank : ranks_) {
    if (rank.process != nullptr) continue;
    const Status status = connect(rank);
    if (!status.ok()) problem(who(rank) + " cannot connect: " + status.describe());
    if (!status.ok()) return false;
  }
  return true;
}

Status Cluster::connect(Rank& rank) {
  rank.process = std::make_unique<RankProcess>(world(), *nodes_[rank.node], rank.node, settings_of(rank.node),
                                               scenario_.ranks.slice_ms);
  rank.place = std::make_unique<VirtualPlace>(world(), scenario_, nodes_, *rank.process, rank.node);
  if (rank.number < scenario_.conduct.unable.size() && scenario_.conduct.unable[rank.number])
    rank.process->set_unable();
  return scenario_.agents.start ? Status() : rank.process->join();
}

// --- Faults ---

void Cluster::befall(const Fault& fault) {
  trace_.note(timeline_.now_ns(), fault.node, name_of(fault.kind), fault.amount, fault.for_ns, fault.other);
  switch (fault.kind) {
    case FaultKind::slow_disk:
      lasts(fault);
      disk_.faults().slow(fault.amount);
      timeline_.after(fault.for_ns, [this] { disk_.faults().slow(1); });
      return;
    case FaultKind::full_disk:
      return disk_.faults().set_capacity(fault.amount);
    case FaultKind::write_error:
      return disk_.faults().fail(io::Op::write, fault.amount, errno_of(fault));
    case FaultKind::sync_error:
      return disk_.faults().fail(io::Op::datasync, fault.amount, errno_of(fault));
    case FaultKind::close_error:
      return disk_.faults().fail(io::Op::close, fault.amount, EIO);
    case FaultKind::stall:
      lasts(fault);
      return disk_.faults().stall(fault.for_ns);
    case FaultKind::cut:
      lasts(fault);
      net_.cut(fault.node, fault.other);
      timeline_.after(fault.for_ns, [this, fault] { net_.heal(fault.node, fault.other); });
      return;
    case FaultKind::delay:
      lasts(fault);
      net_.delay(fault.node, fault.amount);
      timeline_.after(fault.for_ns, [this, fault] { net_.delay(fault.node, 0); });
      return;
    case FaultKind::pause:
      lasts(fault);
      return nodes_[fault.node]->pause(fault.for_ns);
    case FaultKind::corrupt:
      return net_.corrupt(fault.node);
    case FaultKind::kill_agent:
      return crash(fault.node, false, false);
    case FaultKind::lose_node:
      return crash(fault.node, true, true);
    case FaultKind::terminate_agent:
      return nodes_[fault.node]->terminate();
    case FaultKind::kill_group:
      acknowledge_old(fault.node);
      return crash(fault.node, false, true);
    case FaultKind::kill_ranks:
      return kill_ranks(fault.node);
    case FaultKind::read_error:
      return disk_.faults().fail(io::Op::read, fault.amount, EIO);
    case FaultKind::cut_short:
      oracle_.cut(fault.amount);
      return disk_.truncate(0, fault.amount);
    case FaultKind::clock_jump:
      return nodes_[fault.node]->jump(fault.amount);
  }
}

// Called before a node is killed. Writes of all nodes that are older than the bound are in the file by now,
// or in the ledger of the writer's node. If ranks of that node have got an error, it may have no ledger any
// more.
void Cluster::acknowledge_old(std::uint32_t node) {
  if (!scenario_.keeps_the_bound()) return;
  for (const Rank& rank : ranks_) {
    if (rank.node == node || !keeps_ledger(scenario_.settings))
      oracle_.acknowledge_old(rank.number, timeline_.now_ns() - old_ns);
  }
}

// Bytes of killed ranks must be in the file once agents are idle, or once a new open has asked the agents.
void Cluster::acknowledge_killed() {
  if (!scenario_.only_programs_die()) return;
  for (const Rank& rank : ranks_) {
    if (rank.gone) oracle_.acknowledge_finished(rank.number);
  }
}

void Cluster::crash(std::uint32_t node, bool host, bool ranks) {
  crashed_ = true;
  for (const Rank& rank : ranks_) {
    if (scenario_.agents.start && rank.node == node && rank.process->has_joined())
      oracle_.forget_order(rank.number);
  }
  if (host || nodes_[node]->listens()) nodes_[node]->crash(host);
  if (ranks) kill_ranks(node);
}

void Cluster::kill_ranks(std::uint32_t node) {
  for (const auto& staging : stagings_) staging->copies[node].lost = true;
  for (Rank& rank : ranks_) {
    if (rank.node == node && !rank.over) vanish(rank);
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

// Calls `done` only now and then, because `done` looks at each rank.
bool Cluster::step_until(std::uint64_t until_ns, bool (Cluster::*done)() const) {
  while (!(this->*done)()) {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (++steps_ > scenario_.most_steps || !timeline_.step(until_ns)) return (this->*done)();
    }
  }
  return true;
}

// Runs the ranks' programs and the faults. False: some programs do not end.
bool Cluster::play() {
  const std::uint64_t begin_ns = timeline_.now_ns();
  for (const Fault& fault : scenario_.faults)
    planned_.push_back(timeline_.at(begin_ns + fault.at_ns, [this, fault] { befall(fault); }));
  for (Rank& rank : ranks_)
    rank.process->seat().begin([this, &rank] { live(rank); }, timeline_.below(think_ns));
  if (step_until(timeline_.now_ns() + longest_ns, &Cluster::all_over)) return true;
  for (const Rank& rank : ranks_) {
    if (!rank.over && !rank.gone)
      problem(who(rank) + " does not end: it is at step " + std::to_string(rank.step));
  }
  return false;
}

Outcome Cluster::run() {
  const std::vector<Opening> later = std::exchange(scenario_.later, {});
  next_ = later.data();
  const Opening* const end = next_ + later.size();
  if (next_ == end) next_ = nullptr;
  if (connect_all() && open_all()) {
    bool played = play();
    if (scenario_.close_fails()) acknowledge_closes();
    while (played && next_ != nullptr) {
      const Opening& opening = *next_;
      next_ = &opening + 1 == end ? nullptr : &opening + 1;
      played = open_again(opening) && play();
    }
    const bool faultless = scenario_.faultless() && later.empty();
    if (played && !step_until(timeline_.now_ns() + (faultless ? short_rest_ns : rest_ns), &Cluster::all_idle))
      problem("the agents do not come to rest");
    if (faultless) judge_lines();
    acknowledge_killed();
    judge();
  }
  return {problems_,
          trace_.hash(),
          trace_.events(),
          over_ns_,
          net_.bytes_moved(),
          errors_,
          static_cast<std::uint32_t>(ranks_.size()),
          copies_,
          through_,
          trace_.lines()};
}

Outcome run(const Scenario& scenario, bool keep_trace) { return Cluster(scenario, keep_trace).run(); }

}  // namespace millrace::sim
