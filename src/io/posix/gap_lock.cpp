// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/gap_lock.hpp"

#include <fcntl.h>

#include <algorithm>

namespace millrace::io {

namespace {

struct flock lock_of(std::uint64_t file, GapLock::WriterKind kind, short type) {
  constexpr std::uint64_t behind_files = std::uint64_t{1} << 62;
  const std::uint64_t pair = file % (behind_files / 2) * 2;
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(behind_files + pair + (kind == GapLock::WriterKind::sieve ? 1 : 0));
  lock.l_len = 1;
  return lock;
}

}  // namespace

bool GapLock::begin(WriterKind kind) {
  under_way_.fetch_add(1);
  if (held_.load() == held_for(kind)) return true;
  under_way_.fetch_sub(1);
  return change_to(kind);
}

bool GapLock::change_to(WriterKind kind) {
  const std::lock_guard lock(mutex_);
  if (held_.load() != held_for(kind)) {
    const bool waits = kind == WriterKind::pieces && pieces_asked_.fetch_add(1) != 1;
    if (waits || (kind == WriterKind::pieces && held_.load() == Held::sieve) || !drop() || !take(kind))
      return false;
    held_.store(held_for(kind));
  }
  under_way_.fetch_add(1);
  return true;
}

void GapLock::leave() {
  if (held_.load() == Held::nothing && pieces_asked_.load() == 0) return;
  const std::lock_guard lock(mutex_);
  if (drop()) pieces_asked_.store(0);
}

// False: a thread is writing.
bool GapLock::drop() {
  const Held held = held_.exchange(Held::nothing);
  if (held == Held::nothing) return true;
  if (under_way_.load() != 0) {
    held_.store(held);
    return false;
  }
  (void)set(held == Held::pieces ? WriterKind::pieces : WriterKind::sieve, F_UNLCK);
  return true;
}

bool GapLock::take(WriterKind kind) {
  if (!found_) place_ = find_();
  found_ = true;
  const auto valid = [](const Fd& folder) { return folder.valid(); };
  if (!std::ranges::all_of(place_.folders, valid)) return false;
  if (set(kind, F_RDLCK) && is_free(kind == WriterKind::pieces ? WriterKind::sieve : WriterKind::pieces))
    return true;
  (void)set(kind, F_UNLCK);
  return false;
}

bool GapLock::set(WriterKind kind, short type) const {
  return std::ranges::all_of(place_.folders, [&](const Fd& folder) {
    struct flock lock = lock_of(place_.file, kind, type);
    return ::fcntl(folder.get(), F_OFD_SETLK, &lock) == 0;
  });
}

bool GapLock::is_free(WriterKind kind) const {
  return std::ranges::all_of(place_.folders, [&](const Fd& folder) {
    struct flock lock = lock_of(place_.file, kind, F_WRLCK);
    return ::fcntl(folder.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
  });
}

}  // namespace millrace::io
