// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "rank.hpp"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "client/file/ledgers.hpp"
#include "cluster.hpp"

namespace millrace::sim {

Rank::Rank(Cluster& cluster, std::uint32_t number)
    : cluster_(cluster),
      number_(number),
      node_(number / cluster.scenario.ranks_per_node),
      writer_(cluster, *this),
      reader_(cluster, *this) {}

bool Rank::looks_on() const { return cluster_.scenario.conduct.onlooker == number_; }

void Rank::problem(const std::string& text) const { cluster_.judge.problem_of(number_, text); }

void Rank::note(const char* what, std::uint64_t one, std::uint64_t other) const {
  cluster_.world.note(node_, what, number_, one, other);
}

// --- The process ---

Status Rank::connect() {
  if (process_ != nullptr) return {};
  const Scenario& scenario = cluster_.scenario;
  process_ = std::make_unique<RankProcess>(*cluster_.nodes[node_], cluster_.settings_of(node_));
  place_ = std::make_unique<VirtualPlace>(cluster_, *process_, node_);
  if (number_ < scenario.conduct.unable.size() && scenario.conduct.unable[number_]) process_->set_unable();
  return scenario.agents.start ? Status() : process_->join();
}

void Rank::vanish() {
  if (process_ != nullptr && !std::exchange(gone_, true)) process_->vanish();
}

// A process whose agent has died writes without an agent from then on. So a new process takes the rank's
// place.
bool Rank::stays(const Opening& next) const { return next.keeps_ranks && !gone_ && !process_->lost(); }

void Rank::let_go(const Opening& next) {
  writer_.let_go();
  if (!stays(next) || process_->agent_has_gone()) process_ = nullptr;
}

void Rank::begin_again(std::size_t opened) {
  step_ = 0;
  opened_ = opened;
  waits_ = over_ = gone_ = false;
  error_ = {};
}

// --- The program ---

// If the rank has lost its agent, it has saved the bytes of returned writes from its ring.
void Rank::live() {
  const Scenario& scenario = cluster_.scenario;
  const std::vector<Step>& program = scenario.programs[number_];
  for (; step_ < program.size() && !gone_; ++step_) {
    pay();
    take(program[step_]);
  }
  if (gone_) return;
  if (process_->lost() && scenario.writes_survive()) cluster_.judge.oracle().acknowledge_finished(number_);
  const std::size_t next = cluster_.file.openings() - 1;
  if (next >= scenario.later.size() || !stays(scenario.later[next])) process_->leave();
  over_ = true;
  cluster_.outcome.virtual_ns = cluster_.world.now_ns();
}

void Rank::think() {
  if (!gone_) process_->seat().sleep_until(cluster_.world.now_ns() + cluster_.world.moment_ns());
}

// The rank sleeps for the processor time that its earlier calls took.
void Rank::pay() {
  constexpr std::uint64_t quantum_ps =
      50'000'000;  // a rank works this long before other ranks have their turn
  if (owed_ps_ < quantum_ps) return;
  process_->seat().sleep_until(cluster_.world.end_of(std::exchange(owed_ps_, 0) / 1000));
}

void Rank::take(const Step& next) {
  using Kind = Step::Kind;
  struct Way {
    Kind kind;
    bool always;  // also after errors
    void (*take)(Rank& rank, const Step& step);
  };
  static constexpr Way ways[] = {
      {Kind::barrier, true, [](Rank& rank, const Step&) { rank.meet(); }},
      {Kind::close, true, [](Rank& rank, const Step&) { rank.writer_.close(); }},
      {Kind::stage, true, [](Rank& rank, const Step&) { stage_file(rank.cluster_, rank); }},
      {Kind::open_reader, true, [](Rank& rank, const Step&) { rank.reader_.open(); }},
      {Kind::close_reader, true, [](Rank& rank, const Step&) { rank.reader_.close(); }},
      {Kind::tell_writes, true, [](Rank& rank, const Step&) { rank.reader_.tell_writes(); }},
      {Kind::write, false, [](Rank& rank, const Step& step) { rank.writer_.write(step); }},
      {Kind::read, false, [](Rank& rank, const Step& step) { rank.writer_.read(step.extent); }},
      {Kind::sync, false, [](Rank& rank, const Step&) { rank.writer_.sync(); }},
      {Kind::arrive, false, [](Rank& rank, const Step&) { rank.writer_.arrive(); }},
      {Kind::direct, false, [](Rank& rank, const Step&) { rank.writer_.turn(client::Reason::atomic_mode); }},
      {Kind::pipeline, false, [](Rank& rank, const Step&) { rank.writer_.turn(client::Reason::none); }},
      {Kind::open, false, [](Rank& rank, const Step&) { rank.writer_.open_again(); }},
      {Kind::settle, false, [](Rank& rank, const Step&) { rank.settle(); }},
      {Kind::rest, false, [](Rank& rank, const Step& step) { rank.compute(step.stride); }},
      {Kind::read_through, false, [](Rank& rank, const Step& step) { rank.reader_.read(step); }},
      {Kind::sync_reader, false, [](Rank& rank, const Step&) { rank.reader_.sync(); }},
      {Kind::leave, false, [](Rank& rank, const Step&) { rank.reader_.leave(); }},
  };
  const Way& way = *std::ranges::find(ways, next.kind, &Way::kind);
  reader_.end_reads(next);
  const bool skips = cluster_.job.has_failed() || (!error_.ok() && !cluster_.scenario.conduct.heedless);
  if (way.always || (!skips && !gone_)) way.take(*this, next);
}

void Rank::compute(std::uint64_t for_ns) {
  note("computes: rank ns", for_ns);
  process_->seat().sleep_until(cluster_.world.now_ns() + for_ns);
}

void Rank::settle() {
  note("settles: rank");
  (void)client::settle_ledgers(cluster_.file.path().c_str(), true, *process_);
}

void Rank::meet() {
  waits_ = true;
  cluster_.job.release();
  process_->seat().sleep();
}

void Rank::go_on() {
  if (!gone_ && std::exchange(waits_, false)) process_->seat().rouse_after(1 + cluster_.world.moment_ns());
}

bool Rank::told(Status status) {
  if (gone_ || status.ok()) return !gone_;
  note("is told of an error: rank code", static_cast<std::uint64_t>(status.code()));
  const bool first = error_.ok();
  if (first) error_ = status;
  cluster_.judge.hear(number_, status, first);
  return false;
}

// --- Opens ---

client::Plan Rank::agree(Protocol protocol, const transport::RoutePlan& route, millrace::Stage stage,
                         bool leads) {
  const Scenario& scenario = cluster_.scenario;
  client::Wishes wishes;
  wishes.path = cluster_.file.path();
  if (!cluster_.file.is_elsewhere(node_)) (void)wishes.found.remember(wishes.path);
  wishes.mode = O_RDWR;
  wishes.settings.file = scenario.settings;
  wishes.settings.topology = route.topology;
  wishes.settings.file_servers = scenario.conduct.apart ? 0 : route.lanes;
  wishes.settings.stage = stage;
  wishes.words.library_reads = 1;
  wishes.reads = stage != millrace::Stage::none;
  wishes.starts = (number_ + 1) % scenario.ranks_per_node == 0;  // the last rank of its node
  wishes.leads = leads;
  wishes.world = static_cast<std::uint32_t>(scenario.programs.size());
  Assembly& assembly = cluster_.job.assembly(opened_);
  VirtualTeam team(assembly, process_->seat(), opened_++ > 0);
  const std::uint64_t probed = place_->probed();
  client::Plan plan = protocol(team, *place_, std::move(wishes));
  if (!assembly.agrees(plan)) problem("has another plan than the others, or none");
  // Nodes that did not reach each other at an earlier open do not try again.
  const bool gave_up = plan.apart == client::Apart::unreachable && probed == (plan.route ^ 1u);
  if (scenario.benign() && (plan.apart != client::Apart::no || plan.error != 0) && !gave_up &&
      !scenario.conduct.apart)
    problem("leaves the file to the MPI library, though nothing failed");
  return plan;
}

}  // namespace millrace::sim
