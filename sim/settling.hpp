// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "client/file/process.hpp"
#include "node.hpp"
#include "recovering.hpp"
#include "seat.hpp"

namespace millrace::sim {

// A process of a later job, on a node that may have no agent yet. Before it opens the file, it runs the
// shipped client::settle_ledgers(), in a fiber of its own. Not thread safe.
class Settling final : public client::Process {
 public:
  // `settings`: those of a rank on that node. `path`: of the file, or of the process's descriptor of it,
  // which the front gives. `agent`: of the node. With `asks`, it is an agent of another job, whose ranks have
  // been killed.
  Settling(World world, Node& agent, bool asks, std::uint32_t node, Settings settings, std::string path);
  ~Settling() override;

  void begin();
  bool over() const { return over_; }
  // Kills the recovery for which the process waits, if there is one.
  void kill_recovery();
  // The lines that the process writes for the user; empty if all bytes are in the file.
  const std::string& problem() const { return problem_; }

  // --- client::Process ---

  const Settings& settings() const override { return settings_; }
  client::Session* session(bool, client::Reason&) override { return nullptr; }
  bool agent_has_gone() override { return false; }
  client::Session* successor(client::Reason&) override { return nullptr; }
  Result<client::OtherAgents::List> other_agents() override;
  void add(client::Leaver*) override {}
  void remove(client::Leaver*) override {}
  std::uint64_t now_ns() const override { return seat_.now_ns(); }
  std::uint32_t processors() const override { return UINT32_MAX; }
  Result<std::uint64_t> size_of(const std::string&) override { return Code::unsupported; }
  Status datasync(const Fd&) override { return Code::unsupported; }
  Result<FileIdentity> identify(const Fd& file) override { return world_.disk.identify(file); }
  Result<FileIdentity> identify(const std::string& path) override;
  void look_again(const std::string&) override {}
  void pause(std::uint32_t for_ms) override { seat_.pause(for_ms); }
  Result<std::size_t> read_start(const Fd& journal, std::span<std::byte> into) override;
  bool recover(const std::string& directory, const std::string& path) override;
  // Of a job whose ranks were killed, an agent may say that they did not close the file.
  void say(const std::string& line) override { problem_ += asks_ ? "" : line; }

 private:
  World world_;
  std::uint32_t node_;
  const Settings settings_;
  std::string path_;
  Node& agent_;
  const bool asks_;
  std::unique_ptr<Recovering> recovering_;
  Seat seat_;
  bool over_ = false;
  std::string problem_;
};

}  // namespace millrace::sim
