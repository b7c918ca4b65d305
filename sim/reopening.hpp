// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "recovering.hpp"
#include "scenario.hpp"
#include "settling.hpp"

namespace millrace::sim {

struct Cluster;

// What happens between two openings of the file: dead processes start again, and the logs that are left are
// settled. Then programs open the file themselves. Not thread safe.
class Reopening {
 public:
  explicit Reopening(Cluster& cluster) : cluster_(cluster) {}

  // False: the programs cannot begin.
  bool open_again(const Opening& opening);

 private:
  bool settle(const Opening& opening);
  bool is_settled() const;
  bool replace_agents(bool all);

  Cluster& cluster_;
  // Of this opening. Their events may happen later.
  std::vector<std::unique_ptr<Settling>> settling_;  // by node
  std::vector<std::unique_ptr<Recovering>> beside_;  // recoveries by command, beside those of settling_
};

}  // namespace millrace::sim
