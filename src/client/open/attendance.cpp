// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/attendance.hpp"

#include <cstdlib>
#include <string>

#include "base/checksum.hpp"
#include "base/fd.hpp"
#include "client/open/own_process.hpp"
#include "client/open/plan.hpp"
#include "client/start/job.hpp"
#include "client/start/start.hpp"
#include "transport/frame.hpp"
#include "transport/socket.hpp"

namespace millrace::client {

namespace {

constexpr const char* waiting = "-waits";

// The static objects of this file live as long as the process: exit handlers may open files.
std::string name_of(int rank, const char* state = "") {
  static const std::string& world = []() -> const std::string& {
    // Ranks that cannot work together do not see each other. Those with another target exchange other
    // messages.
    const Settings& settings = process_settings();
    const std::string key = world_key(settings) + " " + agent_name(settings) + " " +
                            std::to_string(build_number()) +
                            (settings.target == Target::first ? " first" : "");
    return *new std::string(transport::agent_name(checksum(key.data(), key.size())) + "-rank-");
  }();
  return world + std::to_string(rank) + state;
}

int from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::atoi(value) : 0;
}

}  // namespace

void attend() {
  [[maybe_unused]] static const Fd& held = []() -> const Fd& {
    const int rank = launcher_rank();
    Result<Fd> name = rank < 0 ? Result<Fd>(Code::not_found) : transport::hold_name(name_of(rank));
    return *new Fd(name ? *std::move(name) : Fd());
  }();
}

bool world_is_here(int ranks) {
  if (launcher_rank() < 0) return false;
  if (const NodePlace place = place_on_node(); place.count > 0) return place.count == ranks;
  return from_environment("SLURM_STEP_NUM_NODES") == 1 && from_environment("SLURM_STEP_NUM_TASKS") == ranks;
}

bool attends(int rank) { return transport::is_held(name_of(rank)); }

Fd show_waiting() {
  const int rank = launcher_rank();
  Result<Fd> name = rank < 0 ? Result<Fd>(Code::not_found) : transport::hold_name(name_of(rank, waiting));
  return name ? *std::move(name) : Fd();
}

bool waits(int rank) { return transport::is_held(name_of(rank, waiting)); }

std::uint64_t agent_number() {
  static const std::string& name = *new std::string(agent_name(process_settings()));
  return checksum(name.data(), name.size());
}

std::uint64_t build_number() {
  std::string words = MILLRACE_VERSION;
  for (const std::size_t one : {std::size_t{transport::protocol_version}, sizeof(PeerWords), sizeof(Node),
                                sizeof(Words), sizeof(Decision)})
    words += " " + std::to_string(one);
  return checksum(words.data(), words.size());
}

}  // namespace millrace::client
