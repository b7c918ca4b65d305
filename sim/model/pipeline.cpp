// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline.hpp"

#include <memory>

#include "node.hpp"
#include "server.hpp"

namespace millrace::model {

namespace {

class Pipeline {
 public:
  explicit Pipeline(const PipelinePlan& plan) : plan_(plan), server_(timeline_, plan, result_) {
    for (std::uint32_t node = 0; node < plan.nodes; ++node)
      nodes_.push_back(std::make_unique<Node>(timeline_, plan, result_, node));
    for (std::uint32_t node = 0; node < plan.nodes; ++node) {
      nodes_[node]->send_to(node + 1 < plan.nodes ? static_cast<Inbox&>(*nodes_[node + 1]) : server_);
      nodes_[node]->on_output_complete = [this] { output_complete(); };
    }
    nodes_.front()->end();  // no node is before it
  }

  PipelineResult run() {
    const std::uint64_t start = timeline_.now_ns();
    timeline_.after(plan_.open_ns, [this] { compute(); });
    while (timeline_.step()) ++result_.events;
    result_.bytes = Writes::file_bytes(plan_.pattern, plan_.nodes * plan_.ranks_per_node);
    result_.end_ns = timeline_.now_ns() - start;
    return result_;
  }

 private:
  void compute() {
    result_.compute_ns += plan_.compute_ns;
    timeline_.after(plan_.compute_ns, [this] {
      for (const auto& node : nodes_) node->begin_output();
    });
  }
  // The ranks exchange data with their neighbours in each step, so no rank is an output ahead.
  void output_complete() {
    if (++complete_ < nodes_.size()) return;
    complete_ = 0;
    for (const auto& node : nodes_) node->next_output();
    if (!nodes_.front()->closed()) compute();
  }

  const PipelinePlan& plan_;
  io::Timeline timeline_{1};
  PipelineResult result_;
  Server server_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::size_t complete_ = 0;
};

}  // namespace

PipelineResult run(const PipelinePlan& plan) { return Pipeline(plan).run(); }

}  // namespace millrace::model
