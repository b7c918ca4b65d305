// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "flows.hpp"

#include <algorithm>

namespace millrace::model {

namespace {

struct Rank {
  const Flow* flow;
  std::size_t step = 0;
  std::uint64_t time = 0;  // of the step's
  std::size_t stage = 0;

  // False at the end of the program.
  bool find_stage() {
    while (step < flow->steps.size()) {
      const Step& here = flow->steps[step];
      if (stage < here.stages.size()) return time < here.times;
      stage = 0;
      if (++time >= here.times) {
        time = 0;
        ++step;
      }
    }
    return false;
  }
};

class Run {
 public:
  explicit Run(const FlowPlan& plan) : plan_(plan) {
    for (const NamedStation& one : plan.stations) stations_.emplace_back(timeline_, one.options);
    for (const Flow& flow : plan.flows) ranks_.insert(ranks_.end(), flow.ranks, Rank{&flow});
    result_.rank_end_ns.resize(ranks_.size());
  }

  FlowResult run() {
    const std::uint64_t start = timeline_.now_ns();
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) timeline_.after(0, [this, rank] { go(rank); });
    while (timeline_.step()) ++result_.events;
    for (std::uint64_t& end : result_.rank_end_ns) end -= start;
    result_.end_ns = result_.rank_end_ns.empty() ? 0 : std::ranges::max(result_.rank_end_ns);
    for (std::size_t i = 0; i < stations_.size(); ++i)
      result_.stations.push_back({plan_.stations[i].name, stations_[i].busy_ns(), stations_[i].bytes(),
                                  plan_.stations[i].options.slots});
    return std::move(result_);
  }

 private:
  void go(std::size_t number) {
    Rank& rank = ranks_[number];
    if (!rank.find_stage()) {
      result_.rank_end_ns[number] = timeline_.now_ns();
      return;
    }
    std::uint64_t until = timeline_.now_ns();
    for (const Use& use : rank.flow->steps[rank.step].stages[rank.stage])
      until = std::max(until, stations_[use.station].serve(use.bytes, use.extra_ns));
    ++rank.stage;
    timeline_.at(until, [this, number] { go(number); });
  }

  const FlowPlan& plan_;
  io::Timeline timeline_{1};
  std::vector<io::Station> stations_;
  std::vector<Rank> ranks_;
  FlowResult result_;
};

}  // namespace

FlowResult run(const FlowPlan& plan) { return Run(plan).run(); }

}  // namespace millrace::model
