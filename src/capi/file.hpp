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

// An open file, pipe or socket. It owns the descriptor, and uses the descriptor's own position. Thread safe.
class OwnedFile {
 public:
  using Handle = millrace_file;
  static constexpr HandleKind kind = HandleKind::file;

  // `flags` are MILLRACE_READ and others. Null: `outcome` has the reason.
  static std::shared_ptr<OwnedFile> open(const char* path, int flags, unsigned permissions, Outcome& outcome);
  explicit OwnedFile(Fd fd);

  int descriptor() const { return fd_.get(); }
  // Without an offset, these two use the descriptor's position.
  Outcome write(const HeldMemory& from, std::optional<std::uint64_t> offset) const;
  Outcome read(const HeldMemory& to, std::optional<std::uint64_t> offset) const;
  Outcome seek(std::int64_t offset, int whence) const;
  Outcome size() const;
  Outcome truncate(std::uint64_t bytes) const;
  Outcome sync() const;
  // Closes the descriptor and returns the result. Only the last owner of the file may call it.
  Outcome close();

  // Moves the descriptor into another File, for a child of fork().
  std::shared_ptr<OwnedFile> moved() { return std::make_shared<OwnedFile>(std::move(fd_)); }

  // The number of requests that have begun and whose wait has not finished.
  mutable std::atomic<unsigned> requests{0};

 private:
  Fd fd_;
  const bool regular_;
};

// True if a file can have these bytes at this offset.
bool fits_file(std::uint64_t bytes, std::uint64_t offset);

}  // namespace millrace::capi
