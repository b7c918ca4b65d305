// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "plain/notes.hpp"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "base/setting_table.hpp"

namespace millrace::plain {

bool Notes::on() {
  if (state_.load(std::memory_order_relaxed) == unknown) {
    const char* path = std::getenv(setting_variable::stats);
    state_.store(path != nullptr && *path != '\0' ? counting : off, std::memory_order_relaxed);
  }
  return state_.load(std::memory_order_relaxed) == counting;
}

Notes::Slot* Notes::slot_of(int fd) {
  if (fd < 0 || !on()) return nullptr;
  const pid_t own = ::getpid();
  for (Slot& slot : all_) {
    if (slot.fd.load(std::memory_order_acquire) != fd) continue;
    if (slot.process.load(std::memory_order_relaxed) == own) return &slot;
    slot.fd.store(free_slot);  // the parent reports its own counts
  }
  for (Slot& slot : all_) {
    int expected = free_slot;
    if (!slot.fd.compare_exchange_strong(expected, changing)) continue;
    slot.process.store(own, std::memory_order_relaxed);
    slot.bytes.store(0, std::memory_order_relaxed);
    slot.offered_bytes.store(0, std::memory_order_relaxed);
    slot.early_bytes.store(0, std::memory_order_relaxed);
    slot.behind_bytes.store(0, std::memory_order_relaxed);
    slot.fd.store(fd, std::memory_order_release);
    return &slot;
  }
  return nullptr;
}

// Two threads may each have taken a slot for one descriptor.
Noted Notes::take(int fd) {
  Noted sum;
  if (fd < 0 || state_.load(std::memory_order_relaxed) != counting) return sum;
  const pid_t own = ::getpid();
  for (Slot& slot : all_) {
    int expected = fd;
    if (!slot.fd.compare_exchange_strong(expected, changing)) continue;
    if (slot.process.load(std::memory_order_relaxed) == own) {
      sum.bytes += slot.bytes.load(std::memory_order_relaxed);
      sum.offered_bytes += slot.offered_bytes.load(std::memory_order_relaxed);
      sum.early_bytes += slot.early_bytes.load(std::memory_order_relaxed);
      sum.behind_bytes += slot.behind_bytes.load(std::memory_order_relaxed);
    }
    slot.fd.store(free_slot, std::memory_order_release);
  }
  return sum;
}

namespace {

// Writes the path as the inside of a JSON string. False: no room.
bool quote(const char* path, char*& to, const char* end) {
  for (; *path != '\0'; ++path) {
    const auto byte = static_cast<unsigned char>(*path);
    if (end - to < 8) return false;
    if (byte == '"' || byte == '\\') *to++ = '\\';
    if (byte >= 0x20) {
      *to++ = static_cast<char>(byte);
    } else {
      to += std::snprintf(to, 8, "\\u%04x", byte);
    }
  }
  return true;
}

}  // namespace

std::size_t describe(const Noted& noted, const char* path, const char* why, const char* setting, char* line,
                     std::size_t room) {
  char* to = line;
  const char* end = line + room;
  constexpr const char* begin = R"({"schema":1,"kind":"plain","path":")";
  int length = std::snprintf(to, room, "%s", begin);
  if (length < 0 || static_cast<std::size_t>(length) >= room) return 0;
  to += length;
  if (!quote(path, to, end)) return 0;
  length = std::snprintf(to, static_cast<std::size_t>(end - to),
                         R"(","pid":%d,"bytes":%)" PRIu64 R"(,"early_bytes":%)" PRIu64
                         R"(,"behind_bytes":%)" PRIu64 R"(,"reason":"%s","setting":"%s"})",
                         static_cast<int>(::getpid()), noted.bytes, noted.early_bytes, noted.behind_bytes,
                         why, setting);
  if (length < 0 || length >= end - to) return 0;
  return static_cast<std::size_t>(to + length - line);
}

}  // namespace millrace::plain
