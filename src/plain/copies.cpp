// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "plain/copies.hpp"

#include <fcntl.h>

#include <cerrno>

namespace millrace::plain {
namespace {

FileId id_of(const struct stat& about) { return {about.st_dev, about.st_ino}; }

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// True if the file has not changed. Every change of bytes, owner or mode sets st_ctime.
bool unchanged(const struct stat& a, const struct stat& b) {
  return id_of(a) == id_of(b) && a.st_size == b.st_size && same_time(a.st_mtim, b.st_mtim) &&
         same_time(a.st_ctim, b.st_ctim) && a.st_mode == b.st_mode && a.st_uid == b.st_uid &&
         a.st_gid == b.st_gid;
}

// Flags of a descriptor that a copy may have too. The others demand something of the file itself.
constexpr int kept_flags = O_NONBLOCK | O_NOATIME;
constexpr int refused_flags = O_ACCMODE | O_APPEND | O_ASYNC | O_DIRECT | O_DIRECTORY | O_PATH | O_SYNC;

}  // namespace

bool Copies::add(const struct stat& original, int fd) {
  const unsigned next = count_.load(std::memory_order_relaxed);
  struct stat about;
  if (ended_ || next == most || calls_.about(fd, &about) != 0 || !S_ISREG(about.st_mode) ||
      about.st_size != original.st_size)
    return false;
  Copy& copy = all_[next];
  copy.original = original;
  copy.fd = fd;
  copy.id = id_of(about);
  count_.store(next + 1, std::memory_order_release);
  return true;
}

// The entries stay as they are, because other threads may still look at them.
void Copies::forget() {
  ended_ = true;
  count_.store(0, std::memory_order_release);
}

const Copies::Copy* Copies::copy_of(const struct stat& original) const {
  const unsigned count = count_.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i) {
    const Copy& copy = all_[i];
    if (unchanged(copy.original, original) && !copy.left.load(std::memory_order_relaxed)) return &copy;
  }
  return nullptr;
}

bool Copies::has(int fd, const FileId& id) const {
  struct stat about;
  return calls_.about(fd, &about) == 0 && id_of(about) == id;
}

void Copies::exchange(int fd) const {
  const int error = errno;
  struct stat about;
  const Copy* copy = calls_.about_now(fd, &about) == 0 ? copy_of(about) : nullptr;
  const int flags = copy != nullptr ? calls_.status_flags(fd) : -1;
  if (flags >= 0 && (flags & refused_flags) == 0) {
    // The copy's own descriptor may have been closed, and its number may mean another file.
    const int own = calls_.open_again(copy->fd, flags & kept_flags);
    if (own >= 0) {
      if (has(own, copy->id)) (void)calls_.replace(fd, own);
      calls_.close(own);
    }
  }
  errno = error;
}

void Copies::leave(int fd) {
  const int error = errno;
  struct stat about;
  const unsigned count = count_.load(std::memory_order_acquire);
  if (count != 0 && calls_.about(fd, &about) == 0) {
    const FileId id = id_of(about);
    for (unsigned i = 0; i < count; ++i) {
      if (id == all_[i].id || id == id_of(all_[i].original))
        all_[i].left.store(true, std::memory_order_relaxed);
    }
  }
  errno = error;
}

void Copies::disguise(struct stat* about) const {
  const unsigned count = count_.load(std::memory_order_acquire);
  const FileId id = id_of(*about);
  for (unsigned i = 0; i < count; ++i) {
    if (!(id == all_[i].id)) continue;
    // If the copy's own descriptor is closed, another file may have the copy's number.
    const int error = errno;
    if (has(all_[i].fd, id)) *about = all_[i].original;
    errno = error;
    return;
  }
}

}  // namespace millrace::plain
