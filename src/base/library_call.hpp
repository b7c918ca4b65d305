// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace millrace {

// Lives as long as a call of the MPI library in this process that may rewrite a part of a file, under a lock
// of this process. As long as one lives, such a lock is taken for the library's, and waited for
// (io/posix/extent_lock.hpp). Thread safe.
class LibraryCall {
 public:
  LibraryCall() { under_way_.fetch_add(1); }
  ~LibraryCall() { under_way_.fetch_sub(1); }
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;

  static bool any() { return under_way_.load() != 0; }

 private:
  static inline std::atomic<unsigned> under_way_{0};
};

}  // namespace millrace
