// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// The fake driver's streams and events, and the functions for tests.
#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "staging/testing/fake_cuda.h"
#include "staging/testing/fake_cuda_call.hpp"

using namespace millrace::staging::cuda;
using namespace millrace::staging::cuda::fake;

EXPORT Error cuStreamCreate(Stream* stream, unsigned flags) {
  const Call call;
  if (!call.ok()) return call.error();
  if (current() == nullptr) return no_context();
  Lane* lane = driver().make_lane(current(), (flags & stream_non_blocking) == 0).release();
  driver().streams.insert(lane);
  *stream = reinterpret_cast<Stream>(lane);
  return success;
}

EXPORT Error cuStreamSynchronize(Stream stream) {
  Call call;
  if (!call.ok()) return call.error();
  if (current() == nullptr) return no_context();
  Lane* lane = driver().lane_of(stream, current());
  if (lane == nullptr) return invalid_handle;
  const Point last{lane, lane->posted};
  driver().changed.wait(call.lock(), [&] { return driver().over(last); });
  return success;
}

EXPORT Error cuStreamQuery(Stream stream) {
  const Call call;
  if (!call.ok()) return call.error();
  if (current() == nullptr) return no_context();
  Lane* lane = driver().lane_of(stream, current());
  if (lane == nullptr) return invalid_handle;
  return driver().idle(*lane) ? success : not_ready;
}

EXPORT Error cuStreamDestroy_v2(Stream stream) {
  Call call;
  if (!call.acts()) return call.error();
  auto* lane = reinterpret_cast<Lane*>(stream);
  if (!driver().streams.contains(lane)) {
    driver().wrong("a stream was destroyed that is not there");
    return invalid_handle;
  }
  driver().end_lane(*lane, call.lock());
  driver().streams.erase(lane);
  driver().changed.notify_all();
  delete lane;
  return call.error();
}

EXPORT Error cuEventCreate(Event* event, unsigned) {
  const Call call;
  if (!call.ok()) return call.error();
  if (current() == nullptr) return no_context();
  auto* state = new EventState{current(), {}};
  driver().events.insert(state);
  *event = reinterpret_cast<Event>(state);
  return success;
}

EXPORT Error cuEventRecord(Event event, Stream stream) {
  const Call call;
  if (!call.ok()) return call.error();
  if (current() == nullptr) return no_context();
  auto* state = reinterpret_cast<EventState*>(event);
  Lane* lane = driver().lane_of(stream, current());
  if (lane == nullptr || !driver().events.contains(state)) return invalid_handle;
  if (lane->context != current() || state->context != current()) {
    driver().wrong("an event or a stream of another context");
    return invalid_handle;
  }
  state->at = driver().enqueue(*lane, {});
  return success;
}

EXPORT Error cuEventQuery(Event event) {
  const Call call;
  if (!call.ok()) return call.error();
  auto* state = reinterpret_cast<EventState*>(event);
  if (!driver().events.contains(state)) return invalid_handle;
  return driver().over(state->at) ? success : not_ready;
}

EXPORT Error cuEventSynchronize(Event event) {
  Call call;
  if (!call.ok()) return call.error();
  auto* state = reinterpret_cast<EventState*>(event);
  if (!driver().events.contains(state)) return invalid_handle;
  const Point at = state->at;
  driver().changed.wait(call.lock(), [&] { return driver().over(at); });
  return success;
}

EXPORT Error cuEventDestroy_v2(Event event) {
  const Call call;
  if (!call.acts()) return call.error();
  auto* state = reinterpret_cast<EventState*>(event);
  if (driver().events.erase(state) == 0) {
    driver().wrong("an event was destroyed that is not there");
    return invalid_handle;
  }
  delete state;
  return call.error();
}

EXPORT void fake_cuda_reset(std::uint64_t seed, unsigned max_delay_us) {
  std::unique_lock lock(driver().mutex);
  driver().reset(seed, max_delay_us, lock);
}

EXPORT std::uint64_t fake_cuda_calls() {
  const std::lock_guard lock(driver().mutex);
  return driver().calls;
}

EXPORT void fake_cuda_fail_at(std::uint64_t n, int error) {
  const std::lock_guard lock(driver().mutex);
  driver().fail_at = n;
  driver().fail_with = error;
}

EXPORT void fake_cuda_refuse_pins(int error) {
  const std::lock_guard lock(driver().mutex);
  driver().refuse_pins = error;
}

EXPORT void fake_cuda_stall(int stall) {
  const std::lock_guard lock(driver().mutex);
  driver().stalled = stall != 0;
  driver().changed.notify_all();
}

EXPORT void fake_cuda_get_live(fake_cuda_live* live) {
  Driver& all = driver();
  const std::lock_guard lock(all.mutex);
  int retained = 0;
  for (const ContextState* primary : all.primary) retained += primary != nullptr ? primary->retained : 0;
  int stale = 0;
  for (const auto& [at, size] : all.registrations) stale += msync(at, size, MS_ASYNC) != 0;
  *live = {static_cast<int>(all.streams.size()),
           static_cast<int>(all.events.size()),
           static_cast<int>(all.registrations.size()),
           static_cast<int>(all.allocations.size()),
           retained,
           all.pushed,
           all.misuse,
           stale};
}

EXPORT const char* fake_cuda_last_misuse() { return driver().last_misuse.c_str(); }

EXPORT int fake_cuda_fill(std::uint64_t pointer, int value, std::size_t bytes, void* stream,
                          unsigned delay_us) {
  const std::lock_guard lock(driver().mutex);
  if (current() == nullptr) return no_context();
  Lane* lane = driver().lane_of(static_cast<Stream>(stream), current());
  if (lane == nullptr || driver().holding(pointer, bytes) == nullptr) return invalid_value;
  std::byte* inside = driver().inside + (pointer - reinterpret_cast<Pointer>(driver().view));
  driver().enqueue(*lane, {{}, [=] {
                             std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
                             std::memset(inside, value, bytes);
                           }});
  return success;
}

EXPORT void* fake_cuda_inside(std::uint64_t pointer) {
  return driver().inside + (pointer - reinterpret_cast<Pointer>(driver().view));
}
