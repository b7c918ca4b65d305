// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <array>
#include <atomic>

#include "plain/calls.hpp"

namespace millrace::plain {

// Copies of files on this node (ADR 25). An open for reading gets a copy in place of the file, if the file is
// still as it was when it was copied. The object owns no descriptor, and expects that the program closes
// descriptors that are not its own. A process has one object. Any thread may call it, also in a signal
// handler, because no call waits or allocates memory. Only one thread may call add().
class Copies {
 public:
  static constexpr unsigned most = 64;

  explicit constexpr Copies(const Calls& calls) : calls_(calls) {}
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  // False: there are no copies, so no call needs to ask for one.
  bool any() const { return count_.load(std::memory_order_acquire) != 0; }

  // `original` is the state of the file when it was copied, and `fd` has the copy open. False: the copy is
  // not usable, or there are too many.
  bool add(const struct stat& original, int fd);
  // Ends the use of copies for good. Descriptors that the program has keep the copy.
  void forget();

  // Call it with a descriptor that was just opened for reading. If there is a copy, the descriptor then means
  // the copy. In doubt it stays as it is. Keeps errno.
  void exchange(int fd) const;

  // Call it before the program locks the file of `fd`. The program expects other writers then, so later opens
  // get the file itself. Keeps errno.
  void leave(int fd);

  // If `about` describes a copy, replaces it by the description of the file. Keeps errno.
  void disguise(struct stat* about) const;

 private:
  struct Copy {
    struct stat original {};
    int fd = -1;
    FileId id;
    std::atomic<bool> left{false};
  };

  const Copy* copy_of(const struct stat& original) const;
  bool has(int fd, const FileId& id) const;

  const Calls& calls_;
  std::array<Copy, most> all_{};
  std::atomic<unsigned> count_{0};
  bool ended_ = false;
};

}  // namespace millrace::plain
