// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "client/file/process.hpp"
#include "client/session/testing/null_agent.hpp"

namespace millrace::client::testing {

// A process with that agent.
class NullProcess final : public Process {
 public:
  explicit NullProcess(NullAgent& agent) : agent_(agent) {}

  const Settings& settings() const override { return settings_; }
  Session* session(bool, Reason&) override { return agent_.session.get(); }
  bool agent_has_gone() override { return false; }
  Session* successor(Reason&) override { return nullptr; }
  void add(Leaver*) override {}
  void remove(Leaver*) override {}
  std::uint64_t now_ns() const override { return transport::now_ns(); }
  std::uint32_t processors() const override { return UINT32_MAX; }
  Result<std::uint64_t> size_of(const std::string&) override { return std::uint64_t{0}; }
  Status datasync(const Fd&) override { return {}; }
  Result<FileIdentity> identify(const Fd&) override { return Code::unsupported; }
  Result<FileIdentity> identify(const std::string&) override { return Code::unsupported; }
  void look_again(const std::string&) override {}
  void pause(std::uint32_t) override {}
  Result<std::size_t> read_start(const Fd&, std::span<std::byte>) override { return 0; }
  bool recover(const std::string&, const std::string&) override { return false; }
  void say(const std::string&) override {}

 private:
  Settings settings_;
  NullAgent& agent_;
};

}  // namespace millrace::client::testing
