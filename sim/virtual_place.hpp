// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "client/open/place.hpp"
#include "rank_process.hpp"
#include "staging.hpp"

namespace millrace::sim {

struct Cluster;

// The place of a rank in virtual time. Owned by its rank. Not thread safe.
class VirtualPlace final : public client::Place {
 public:
  VirtualPlace(Cluster& cluster, RankProcess& process, std::uint32_t node)
      : cluster_(cluster), process_(process), node_(node) {}

  // For a staged file, until end_copy(). This rank holds its copy open meanwhile, or its stand-in, and as
  // long as the result of end_copy() lives.
  void begin_copy(Staging& staging) { staging_ = &staging; }
  std::unique_ptr<Held> end_copy() {
    staging_ = nullptr;
    return std::move(held_);
  }

  std::uint64_t node() const override { return node_ + 1; }
  std::uint64_t host() const override { return node_ + 1; }
  Result<client::AgentAddress> meet() override;
  client::AgentAddress met() override;
  bool reaches(std::span<const client::AgentAddress> agents) override;
  bool draw(std::span<std::byte> random) override;
  client::Sight look(const client::TargetFile& target) override;
  client::Costs costs_of(const client::TargetFile& target) override;
  client::FileStamp stamp_of(const std::string&) override {
    return staging_ != nullptr ? staging_->original.stamp() : client::FileStamp{};
  }
  Result<std::unique_ptr<client::Source>> open_source(const std::string&) override;
  std::string stage_directory() override;
  bool has_room(const std::string&, std::uint64_t, bool) override { return true; }
  Fd open_copy(const std::string& path) override;
  Result<Fd> open_target(const std::string& path, int mode, const FileSettings*) override {
    return client::open_target(path, mode);
  }
  std::uint64_t size_of(const Fd& copy) override;
  void say(const std::string& line) override { process_.say(line); }
  std::unique_ptr<client::File> open(client::OpenRequest request) override;

 private:
  Cluster& cluster_;
  RankProcess& process_;
  const std::uint32_t node_;
  Staging* staging_ = nullptr;
  std::unique_ptr<Held> held_;
};

}  // namespace millrace::sim
