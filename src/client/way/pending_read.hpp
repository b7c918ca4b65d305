// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.hpp"

namespace millrace::client {

// A read through the agents that goes on while the program computes. Its owner keeps the memory and the type
// maps of its pieces until it has ended.
class PendingRead {
 public:
  // Without finish(): no more bytes come, and all such reads of the file that have not ended fail.
  virtual ~PendingRead() = default;
  // Waits for the end. If it is ok, the memory has all bytes. If not, some of the memory may have changed,
  // and the caller reads the file itself. May be called again.
  virtual Status finish() = 0;
};

}  // namespace millrace::client
