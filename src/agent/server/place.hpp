// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "transport/processors.hpp"

namespace millrace::agent {

// The processors for an agent: those of its job that no rank is bound to, or all of its job if ranks are
// bound to each of them. `allowed`: the kernel lets the agent use these.
class ProcessorChoice {
 public:
  // A rank with its own processors, and those of its job on this node. Empty sets tell nothing.
  void add(const transport::Processors& own, const transport::Processors& job);
  transport::Processors of(const transport::Processors& allowed) const;

 private:
  transport::Processors job_, bound_;
};

// Where this process runs. The agent inherits the processors of the rank that started it, and a rank may be
// bound to one that it never leaves. Not thread safe.
class Placement {
 public:
  // A rank has greeted. Moves all threads of this process if the choice changes.
  void add(const transport::Processors& own, const transport::Processors& job);
  // The list of processors, such as "2-3".
  std::string text() const;

 private:
  ProcessorChoice choice_;
};

}  // namespace millrace::agent
