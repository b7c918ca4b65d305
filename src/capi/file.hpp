// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/fd.hpp"
#include "capi/handles.hpp"
#include "capi/memory.hpp"
#include "capi/outcome.hpp"
#include "millrace/millrace.h"

namespace millrace::capi {

// An open file, pipe or socket. Its position is the descriptor's own. Thread safe.
class File {
 public:
  using Handle = millrace_file;
  static constexpr Kind kind = Kind::file;

  // flags: MILLRACE_READ...; null: `outcome` has the reason.
  static std::shared_ptr<File> open(const char* path, int flags, unsigned permissions, Outcome& outcome);
  explicit File(Fd fd);

  int descriptor() const { return fd_.get(); }
  // Without an offset: at the position.
  Outcome write(const Memory& from, std::optional<std::uint64_t> offset) const;
  Outcome read(const Memory& to, std::optional<std::uint64_t> offset) const;
  Outcome seek(std::int64_t offset, int whence) const;
  Outcome size() const;
  Outcome truncate(std::uint64_t bytes) const;
  Outcome sync() const;
  // The result of close(2). For the last owner of the file.
  Outcome close();

  // Its descriptor, in another File: for a child of fork().
  std::shared_ptr<File> moved() { return std::make_shared<File>(std::move(fd_)); }

  // Requests that have begun without a finished wait.
  mutable std::atomic<unsigned> requests{0};

 private:
  Fd fd_;
  const bool regular_;
};

// True if a file can have these bytes at this offset.
bool fits_file(std::uint64_t bytes, std::uint64_t offset);

}  // namespace millrace::capi
