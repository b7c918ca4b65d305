// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/file/testing/scripted_process.hpp"
#include "client/session/testing/null_agent.hpp"

namespace millrace::client::testing {

// A process with that agent.
class NullProcess final : public ScriptedProcess {
 public:
  explicit NullProcess(NullAgent& agent) : agent_(agent) {}

  Session* session(bool, Reason&) override { return agent_.session.get(); }
  std::uint64_t now_ns() const override { return transport::now_ns(); }
  Result<std::uint64_t> size_of(const std::string&) override { return std::uint64_t{0}; }

 private:
  NullAgent& agent_;
};

}  // namespace millrace::client::testing
