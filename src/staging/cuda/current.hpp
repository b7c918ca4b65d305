// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "staging/cuda/api.hpp"

namespace millrace::staging::cuda {

// Makes a context the thread's current one for a scope. The destructor restores the program's own.
class Current {
 public:
  Current(const Table& table, Context context) : table_(table), error_(table.cuCtxPushCurrent_v2(context)) {}
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current() {
    Context popped = nullptr;
    if (ok()) table_.cuCtxPopCurrent_v2(&popped);
  }

  bool ok() const { return error_ == success; }
  Error error() const { return error_; }

 private:
  const Table& table_;
  const Error error_;
};

}  // namespace millrace::staging::cuda
