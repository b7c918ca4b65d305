// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/settings.hpp"
#include "transport/processors.hpp"

namespace millrace::client {

std::string job_key(const Settings& settings);
// The ranks of one MPI_COMM_WORLD on this node have the same key, and no other process has it. Jobs that one
// `millrace run` starts have one job_key(), and different keys here.
std::string world_key(const Settings& settings);

// The number that the launcher gave to this process; -1 if there is no launcher.
int launcher_rank();

// The processors that a process may use; 0: this one.
transport::Processors processors_of(int process);
// Those that this process's job may use on this node. With a launcher, they are the launcher's own, because
// it binds only its ranks.
transport::Processors processors_of_job();

// This process among the launcher's processes on its node: number 0 is the first of `count`. Count 0: the
// launcher does not tell.
struct NodePlace {
  int number = 0;
  int count = 0;
};
NodePlace place_on_node();

// True if so many processes of the launcher are on more than one node. False: they may be on one.
bool spans_nodes(int ranks);
// False: the launcher says that all of so many processes are on this node.
bool may_span_nodes(int ranks);
// True if this is the launcher's first process of its node, or if the launcher does not tell.
bool is_first_of_node();
// True if this is the launcher's first process of its node, and `ranks` processes are on more than one node.
// One process of the node can then do what all of them need.
bool leads_node(int ranks);
// True if this is the launcher's last process of its node, and `ranks` processes are on more than one node.
bool is_last_of_node(int ranks);

}  // namespace millrace::client
