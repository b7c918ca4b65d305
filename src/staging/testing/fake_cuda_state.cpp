// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/testing/fake_cuda_state.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

namespace millrace::staging::cuda::fake {

Driver& driver() {
  static auto& one = *new Driver;
  return one;
}

std::vector<ContextState*>& stack() {
  thread_local std::vector<ContextState*> contexts;
  return contexts;
}

void Driver::reset(std::uint64_t seed, unsigned delay_us, std::unique_lock<std::mutex>& lock) {
  refuse_pins = success;
  stalled = false;
  for (const auto& context : contexts) {
    if (context->alive) end_context(context.get(), lock);
  }
  for (ContextState*& one : primary) one = nullptr;
  allocations.clear();
  registrations.clear();
  initialized = false;
  calls = fail_at = 0;
  pushed = 0;
  max_delay_us = delay_us;
  dice.seed(seed);
  misuse = 0;
  last_misuse.clear();
  map_memory();
}

void Driver::map_memory() {
  if (view != nullptr) return;
  const int memory = memfd_create("fake-device", MFD_CLOEXEC);
  if (memory < 0 || ftruncate(memory, memory_bytes) != 0) std::abort();
  view = static_cast<std::byte*>(mmap(nullptr, memory_bytes, PROT_NONE, MAP_SHARED, memory, 0));
  inside =
      static_cast<std::byte*>(mmap(nullptr, memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0));
  if (view == MAP_FAILED || inside == MAP_FAILED) std::abort();
}

void Driver::wrong(const char* what) {
  ++misuse;
  last_misuse = what;
}

bool Driver::known(ContextState* context) const {
  return std::ranges::any_of(contexts, [&](const auto& one) { return one.get() == context; });
}

ContextState* Driver::make_context(Ordinal ordinal) {
  auto context = std::make_unique<ContextState>();
  context->ordinal = ordinal;
  context->id = ++last_id;
  context->legacy = make_lane(context.get(), true);
  contexts.push_back(std::move(context));
  return contexts.back().get();
}

void Driver::end_context(ContextState* context, std::unique_lock<std::mutex>& lock) {
  context->alive = false;
  for (Lane* lane : lanes()) {
    if (lane->context == context && lane != context->legacy.get()) end_lane(*lane, lock);
  }
  end_lane(*context->legacy, lock);
  std::erase_if(allocations, [&](const auto& entry) { return entry.second.context == context; });
  std::erase_if(streams, [&](Lane* lane) {
    const bool its = lane->context == context;
    if (its) delete lane;
    return its;
  });
  std::erase_if(events, [&](EventState* event) {
    const bool its = event->context == context;
    if (its) delete event;
    return its;
  });
}

std::vector<Lane*> Driver::lanes() const {
  std::vector<Lane*> all(streams.begin(), streams.end());
  for (const auto& context : contexts) {
    if (context->legacy != nullptr) all.push_back(context->legacy.get());
  }
  return all;
}

std::unique_ptr<Lane> Driver::make_lane(ContextState* context, bool blocking) {
  auto lane = std::make_unique<Lane>();
  lane->context = context;
  lane->blocking = blocking;
  lane->thread = std::thread([this, one = lane.get()] { serve(*one); });
  return lane;
}

void Driver::end_lane(Lane& lane, std::unique_lock<std::mutex>& lock) {
  if (!lane.thread.joinable()) return;
  lane.stop = true;
  changed.notify_all();
  std::thread thread = std::move(lane.thread);
  lock.unlock();
  thread.join();
  lock.lock();
}

bool Driver::over(const Point& point) const {
  const std::vector<Lane*> all = lanes();
  const bool there = std::ranges::find(all, point.lane) != all.end();
  return !there || point.lane->done >= point.number;
}

// True if a stream has no work. An NVIDIA driver (580.159) reports the legacy stream as idle only if the
// blocking streams have no work either.
bool Driver::idle(const Lane& lane) const {
  const auto has_done_all = [](const Lane* one) { return one->done == one->posted; };
  if (&lane != lane.context->legacy.get()) return has_done_all(&lane);
  return has_done_all(&lane) && std::ranges::all_of(streams, [&](const Lane* other) {
           return other->context != lane.context || !other->blocking || has_done_all(other);
         });
}

void Driver::serve(Lane& lane) {
  std::unique_lock lock(mutex);
  const auto may_run = [&] {
    if (lane.work.empty() || stalled) return false;
    return std::ranges::all_of(lane.work.front().after, [&](const Point& point) { return over(point); });
  };
  for (;;) {
    changed.wait(lock, [&] { return (lane.stop && lane.work.empty()) || may_run(); });
    if (lane.work.empty()) return;
    const unsigned delay = max_delay_us == 0 ? 0 : static_cast<unsigned>(dice() % (max_delay_us + 1));
    const std::function<void()> run = lane.work.front().run;
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(delay));
    if (run) run();
    lock.lock();
    lane.work.pop_front();
    ++lane.done;
    changed.notify_all();
  }
}

Lane* Driver::lane_of(Stream stream, ContextState* current) {
  const auto number = reinterpret_cast<std::uintptr_t>(stream);
  if (number <= 1) return current->legacy.get();
  auto* lane = reinterpret_cast<Lane*>(stream);
  return streams.contains(lane) ? lane : nullptr;
}

// Work in the legacy stream runs after all work that blocking streams had before, and before all work that
// they get later.
Point Driver::enqueue(Lane& lane, Work work) {
  Lane* legacy = lane.context->legacy.get();
  if (&lane == legacy) {
    for (Lane* other : streams) {
      if (other->context == lane.context && other->blocking) work.after.push_back({other, other->posted});
    }
  } else if (lane.blocking) {
    work.after.push_back({legacy, legacy->posted});
  }
  lane.work.push_back(std::move(work));
  changed.notify_all();
  return {&lane, ++lane.posted};
}

bool Driver::in_use(const void* host, std::size_t bytes, Pointer device, std::size_t device_bytes) const {
  const auto* begin = static_cast<const std::byte*>(host);
  for (const Lane* lane : lanes()) {
    for (const Work& work : lane->work) {
      const auto* at = static_cast<const std::byte*>(work.host);
      if (at != nullptr && begin != nullptr && at < begin + bytes && begin < at + work.bytes) return true;
      if (work.device != 0 && device <= work.device && work.device < device + device_bytes) return true;
    }
  }
  return false;
}

const Allocation* Driver::holding(Pointer pointer, std::size_t bytes) const {
  const auto behind = allocations.upper_bound(pointer);
  if (behind == allocations.begin()) return nullptr;
  const auto& [begin, allocation] = *std::prev(behind);
  const bool inside_it = pointer - begin < allocation.bytes && bytes <= allocation.bytes - (pointer - begin);
  return inside_it ? &allocation : nullptr;
}

Pointer Driver::allocate(std::size_t bytes, const Allocation& as) {
  constexpr std::size_t granule = 4096;
  const auto base = reinterpret_cast<Pointer>(view);
  Pointer at = base;
  for (const auto& [begin, allocation] : allocations) {
    if (begin < base || begin >= base + memory_bytes) continue;  // host memory
    if (begin - at >= bytes + granule) break;
    // Leaves a hole between two allocations.
    at = (begin + allocation.bytes + 2 * granule - 1) / granule * granule;
  }
  if (at + bytes > base + memory_bytes) return 0;
  allocations[at] = as;
  allocations[at].bytes = bytes;
  return at;
}

}  // namespace millrace::staging::cuda::fake
