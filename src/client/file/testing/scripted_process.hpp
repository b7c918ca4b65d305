// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/file/process.hpp"

namespace millrace::client::testing {

// A process without an agent, whose time passes only in pauses. It keeps its lines.
class ScriptedProcess : public Process {
 public:
  const Settings& settings() const override { return settings_; }
  Session* session(bool, Reason&) override { return nullptr; }
  bool agent_has_gone() override { return false; }
  Session* successor(Reason&) override { return nullptr; }
  void add(Leaver*) override {}
  void remove(Leaver*) override {}
  std::uint64_t now_ns() const override { return now_ns_; }
  std::uint32_t processors() const override { return UINT32_MAX; }
  Result<std::uint64_t> size_of(const std::string&) override { return Code::unsupported; }
  Status datasync(const Fd&) override { return {}; }
  Result<FileIdentity> identify(const Fd&) override { return Code::unsupported; }
  Result<FileIdentity> identify(const std::string&) override { return Code::unsupported; }
  void look_again(const std::string&) override {}
  void pause(std::uint32_t for_ms) override {
    now_ns_ += std::uint64_t{for_ms} * 1'000'000;
    if (while_waiting) while_waiting();
  }
  Result<std::size_t> read_start(const Fd&, std::span<std::byte>) override { return 0; }
  bool recover(const std::string&, const std::string&) override { return false; }
  void say(const std::string& line) override { said.push_back(line); }

  std::function<void()> while_waiting;
  std::vector<std::string> said;

 protected:
  Settings settings_;
  std::uint64_t now_ns_ = 0;
};

}  // namespace millrace::client::testing
