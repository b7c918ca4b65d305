// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/pool.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

namespace millrace::staging {

namespace {

constexpr Shape narrow_shape{1, 64 * KiB, 64 * KiB};
// A call without slots moves this many bytes before it looks for slots again.
constexpr std::uint64_t narrow_part = 1 * MiB;

PoolOptions within_bound(PoolOptions options) {
  Shape& shape = options.shape;
  shape.slots = std::max<std::size_t>(shape.slots, 1);
  const std::uint64_t most = options.bytes_max / shape.slots / page_bytes * page_bytes;
  shape.slot_bytes = std::max<std::uint64_t>(std::min<std::uint64_t>(shape.slot_bytes, most), page_bytes);
  return options;
}

}  // namespace

Pool::Pool(const PoolOptions& options) : options_(within_bound(options)) {}

std::unique_ptr<Staging> Pool::take_idle(const Device& device) {
  const auto of_device = [&](const auto& staging) { return &staging->device() == &device; };
  // The last one used is still in the caches.
  const auto found = std::find_if(idle_.rbegin(), idle_.rend(), of_device);
  if (found == idle_.rend()) return nullptr;
  std::unique_ptr<Staging> staging = std::move(*found);
  idle_.erase(std::next(found).base());
  return staging;
}

std::unique_ptr<Staging> Pool::borrow(Device& device, bool may_wait) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.patience_ms);
  std::unique_lock lock(mutex_);
  for (;;) {
    if (std::unique_ptr<Staging> staging = take_idle(device)) return staging;
    if (counts_.bytes + options_.shape.bytes() <= options_.bytes_max) break;
    if (!idle_.empty()) {
      // No ring of this device is idle. Destroys an idle ring of another device, to reuse its share of the
      // bound.
      const std::unique_ptr<Staging> other = std::move(idle_.front());
      idle_.erase(idle_.begin());
      counts_.bytes -= other->bytes();
    } else if (!may_wait || returned_.wait_until(lock, until) == std::cv_status::timeout) {
      may_wait = false;
      if (idle_.empty()) return nullptr;
    }
  }
  const std::uint64_t reserved = options_.shape.bytes();
  counts_.bytes += reserved;
  counts_.peak_bytes = std::max(counts_.peak_bytes, counts_.bytes);
  lock.unlock();
  Result<std::unique_ptr<Staging>> made = Staging::create(device, options_.shape);
  lock.lock();
  if (!made) {
    counts_.bytes -= reserved;
    returned_.notify_one();
    return nullptr;
  }
  counts_.bytes -= reserved - (*made)->bytes();
  const Status pinned = (*made)->pinned();
  if (!pinned.ok() && counts_.unpinned++ == 0) tell_unpinned(pinned, device);
  return *std::move(made);
}

void Pool::tell_unpinned(Status why, const Device& device) {
  if (options_.tell == nullptr) return;
  // The reason is not from describe(), whose sentences are about files.
  std::string reason = device.explain();
  std::array<char, 128> room{};
  if (reason.empty() && why.error() != 0) reason = words_of_errno(why.error(), room);
  if (reason.empty()) reason = "the device refuses them";
  const std::string line =
      "staging buffers of " + std::to_string(options_.shape.bytes() / KiB) +
      " KiB could not be pinned for device " + device.name() + " (" + reason +
      "): copies are slower, and no data is affected; raise the limit on locked memory (ulimit -l)";
  options_.tell(line.c_str());
}

void Pool::give_back(std::unique_ptr<Staging> staging) {
  const std::lock_guard lock(mutex_);
  if (staging->retired()) {
    ++counts_.retired;  // its bytes still count, because they are never unmapped
  } else {
    idle_.push_back(std::move(staging));
    returned_.notify_one();
  }
}

template <class Mover>
Moved Pool::move(Device& device, std::uint64_t bytes, const Mover& mover) {
  if (device.inherited()) return {0, Status(Code::unsupported, EFAULT)};
  bytes = std::min(bytes, request_max);
  Moved moved;
  std::unique_ptr<Staging> narrow;
  bool may_wait = true;
  while (moved.bytes < bytes) {
    std::unique_ptr<Staging> staging = borrow(device, may_wait);
    may_wait = false;
    std::uint64_t part = bytes - moved.bytes;
    if (staging == nullptr) {
      part = std::min(part, narrow_part);
      if (narrow == nullptr) {
        Result<std::unique_ptr<Staging>> made = Staging::create(device, narrow_shape);
        if (!made) {
          moved.status = Status(made.status().code(), EIO);
          return moved;
        }
        narrow = *std::move(made);
      }
      const std::lock_guard lock(mutex_);
      ++counts_.narrow;
    }
    const Moved some = mover(staging != nullptr ? *staging : *narrow, moved.bytes, part);
    if (staging != nullptr) give_back(std::move(staging));
    moved.bytes += some.bytes;
    moved.status = some.status;
    if (!some.status.ok() || some.bytes < part) break;
  }
  return moved;
}

Moved Pool::write(Device& device, Address from, std::uint64_t bytes, End& to) {
  return move(device, bytes, [&](Staging& staging, std::uint64_t done, std::uint64_t part) {
    return staging.write_through(from + done, part, to);
  });
}

Moved Pool::read(Device& device, End& from, Address to, std::uint64_t bytes) {
  return move(device, bytes, [&](Staging& staging, std::uint64_t done, std::uint64_t part) {
    return staging.read_through(from, to + done, part, done == 0);
  });
}

void Pool::forget(const Device& device) {
  std::unique_lock lock(mutex_);
  while (std::unique_ptr<Staging> staging = take_idle(device)) {
    counts_.bytes -= staging->bytes();
    staging.reset();
  }
  returned_.notify_all();
}

Pool::Counts Pool::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace millrace::staging
