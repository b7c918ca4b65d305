// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "client/file/ledgers.hpp"
#include "rank_process.hpp"

namespace millrace::sim {

// A process of a later job, on a node that may have no agent yet. Before it opens the file, it runs the
// shipped client::settle_ledgers(), in a fiber of its own. Not thread safe.
class Settling final : public VirtualProcess {
 public:
  // `settings`: those of a rank on that node. `path`: of the file, or of the process's descriptor of it,
  // which the front gives. `agent`: of the node. With `asks`, it is an agent of another job, whose ranks have
  // been killed.
  Settling(Node& agent, bool asks, Settings settings, std::string path)
      : VirtualProcess(agent, std::move(settings)), path_(std::move(path)), asks_(asks) {}
  // A fiber must end before its destruction.
  ~Settling() override {
    if (!over_) seat_.vanish();
  }

  void begin() {
    seat_.begin(
        [this] {
          (void)client::settle_ledgers(path_.c_str(), true, *this);
          over_ = true;
        },
        0);
  }
  bool over() const { return over_; }
  // Kills the recovery for which the process waits, if there is one.
  void kill_recovery() {
    if (recovering_ != nullptr) recovering_->kill();
  }
  // The lines that the process writes for the user; empty if all bytes are in the file.
  const std::string& problem() const { return problem_; }

  // --- client::Process ---

  client::Session* session(bool, client::Reason&) override { return nullptr; }
  bool agent_has_gone() override { return false; }
  client::Session* successor(client::Reason&) override { return nullptr; }
  Result<client::OtherAgents::List> other_agents() override {
    return asks_ ? agent_as_another() : client::OtherAgents::List();
  }
  Status datasync(const Fd&) override { return Code::unsupported; }
  // Of a job whose ranks were killed, an agent may say that they did not close the file.
  void say(const std::string& line) override { problem_ += asks_ ? "" : line; }

 private:
  std::string path_;
  const bool asks_;
  bool over_ = false;
  std::string problem_;
};

}  // namespace millrace::sim
