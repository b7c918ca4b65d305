// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/file/process.hpp"
#include "library_files.hpp"
#include "node.hpp"
#include "recovering.hpp"
#include "seat.hpp"

namespace millrace::sim {

// The system of a process in virtual time. Names of files are real; their contents are on the virtual disk.
// Calls block in the process's fiber. Not thread safe.
class VirtualProcess : public client::Process {
 public:
  VirtualProcess(Node& agent, Settings settings)
      : agent_(agent), world_(agent.world()), settings_(std::move(settings)), seat_(agent, world_.timeline) {}

  Seat& seat() { return seat_; }

  const Settings& settings() const override { return settings_; }
  void add(client::Leaver*) override {}  // every program closes its files
  void remove(client::Leaver*) override {}
  std::uint64_t now_ns() const override { return seat_.now_ns(); }
  std::uint32_t processors() const override { return UINT32_MAX; }  // virtual ranks never wait for one
  Result<std::uint64_t> size_of(const std::string& path) override;
  Result<FileIdentity> identify(const Fd& file) override { return world_.disk.identify(file); }
  Result<FileIdentity> identify(const std::string& path) override;
  Result<FileIdentity> mark(const Fd& file) override { return world_.disk.recognise(file, true); }
  void look_again(const std::string&) override {}  // caches of the virtual disk are never old
  void pause(std::uint32_t for_ms) override { seat_.pause(for_ms); }
  Result<std::size_t> read_start(const Fd& journal, std::span<std::byte> into) override;
  bool recover(const std::string& directory, const std::string& path) override;

 protected:
  // The node's agent, as a process sees it that has no session with it.
  client::OtherAgents::List agent_as_another();

  Node& agent_;
  World& world_;
  const Settings settings_;
  Seat seat_;
  std::unique_ptr<Recovering> recovering_;
};

// The process of a rank, for its client::Files, with the MPI library's own files.
class RankProcess final : public VirtualProcess {
 public:
  RankProcess(Node& agent, Settings settings)
      : VirtualProcess(agent, std::move(settings)),
        files_(world_.disk, agent.number(), seat_, world_.timeline) {}

  // Joins the agent, which must be running.
  Status join();
  // From now on the rank cannot start an agent, and joins one only for questions.
  void set_unable() { unable_ = true; }

  // Only for a rank that has joined.
  client::Session& session() { return *sessions_.front(); }
  bool has_joined() const { return !sessions_.empty(); }
  // True if it has joined an agent and lost it.
  bool lost() const { return has_joined() && sessions_.front()->lost(); }
  // The process ends, and disconnects from its agents.
  void leave();
  // The process dies with its host, at any point.
  void vanish();

  // The MPI library's own calls.
  LibraryFiles& library() { return files_; }

  // --- client::Process ---

  client::Session* session(bool may_start, client::Reason& why) override;
  bool agent_is_up() override;
  // True also if the rank has not noticed that yet.
  bool agent_has_gone() override { return has_joined() && session().gone(); }
  client::Session* successor(client::Reason& why) override;
  Result<client::OtherAgents::List> other_agents() override;
  Status datasync(const Fd& file) override { return files_.datasync(file); }
  void say(const std::string& line) override { agent_.say(line); }

 private:
  bool find_agent(bool may_start);

  std::vector<std::unique_ptr<client::Session>>
      sessions_;                  // with the agents that it has joined, one after another
  std::uint64_t look_at_ns_ = 0;  // time of the next look for an agent
  std::uint64_t look_for_successor_ns_ = 0;
  bool unable_ = false;
  LibraryFiles files_;
};

}  // namespace millrace::sim
