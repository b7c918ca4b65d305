// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/open/place.hpp"
#include "node.hpp"
#include "rank_process.hpp"
#include "scenario.hpp"

namespace millrace::sim {

// The place of a rank in virtual time. Owned by its rank. Not thread safe.
class VirtualPlace final : public client::Place {
 public:
  VirtualPlace(World world, const Scenario& scenario, const std::vector<std::unique_ptr<Node>>& nodes,
               RankProcess& process, std::uint32_t node)
      : world_(world), scenario_(scenario), nodes_(nodes), process_(process), node_(node) {}

  // For a file of the first node: the name of its stand-in on this node, for the next open. Empty: there is
  // none, because this is the first node.
  void set_stand_in(std::string path) { stand_in_ = std::move(path); }

  std::uint64_t node() const override { return node_ + 1; }
  std::uint64_t host() const override { return node_ + 1; }
  Result<client::AgentAddress> meet() override;
  client::AgentAddress met() override;
  bool reaches(std::span<const client::AgentAddress> agents) override;
  bool draw(std::span<std::byte> random) override;
  client::Sight look(const client::TargetFile& target) override;
  client::KnownCosts costs_of(const client::TargetFile& target) override;
  void say(const std::string& line) override { process_.say(line); }
  std::unique_ptr<client::File> open(client::OpenRequest request) override;

 private:
  World world_;
  const Scenario& scenario_;
  const std::vector<std::unique_ptr<Node>>& nodes_;
  RankProcess& process_;
  const std::uint32_t node_;
  std::optional<std::string> stand_in_;
};

}  // namespace millrace::sim
