// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "staging/cuda/api.hpp"

// The state of the fake driver. One lock protects it. A stream's thread releases the lock while it works.
namespace millrace::staging::cuda::fake {

inline constexpr int devices = 2;
inline constexpr std::size_t memory_bytes = std::size_t{256} << 20;

inline constexpr Error invalid_device = 101;
inline constexpr Error invalid_handle = 400;

struct Lane;

// A point in a stream's order. It is reached when the stream has done `number` pieces of work.
struct Point {
  Lane* lane = nullptr;
  std::uint64_t number = 0;
};

struct Work {
  std::vector<Point> after;
  std::function<void()> run;
  const void* host = nullptr;  // of a copy
  std::size_t bytes = 0;
  Pointer device = 0;
};

// A stream and its thread.
struct Lane {
  struct ContextState* context = nullptr;
  bool blocking = true;
  std::deque<Work> work;
  std::uint64_t posted = 0;
  std::uint64_t done = 0;
  bool stop = false;
  std::thread thread;
};

struct ContextState {
  Ordinal ordinal = 0;
  unsigned long long id = 0;
  bool alive = true;
  int retained = 0;
  std::unique_ptr<Lane> legacy;
};

struct EventState {
  ContextState* context = nullptr;
  Point at;
};

struct Allocation {
  std::size_t bytes = 0;
  ContextState* context = nullptr;  // null: memory of a pool
  Ordinal ordinal = 0;
  unsigned type = memory_type_device;
  bool managed = false;
};

struct Driver {
  std::mutex mutex;
  std::condition_variable changed;
  bool initialized = false;
  std::uint64_t calls = 0;
  std::uint64_t fail_at = 0;
  Error fail_with = 0;
  Error refuse_pins = success;
  bool stalled = false;
  unsigned max_delay_us = 0;
  std::mt19937_64 dice;
  unsigned long long last_id = 0;

  std::byte* view = nullptr;    // the view at the device's addresses, which the host cannot access
  std::byte* inside = nullptr;  // a view of the same memory for the fake's own accesses
  std::map<Pointer, Allocation> allocations;
  std::map<std::byte*, std::size_t> registrations;
  std::vector<std::unique_ptr<ContextState>> contexts;  // destroyed ones too, so that no handle is used again
  ContextState* primary[devices] = {};
  std::set<Lane*> streams;
  std::set<EventState*> events;
  int pushed = 0;
  int misuse = 0;
  std::string last_misuse;

  // Call all of these with the mutex held.
  void reset(std::uint64_t seed, unsigned delay_us, std::unique_lock<std::mutex>& lock);
  void map_memory();
  void wrong(const char* what);
  bool known(ContextState* context) const;
  ContextState* make_context(Ordinal ordinal);
  void end_context(ContextState* context, std::unique_lock<std::mutex>& lock);
  std::unique_ptr<Lane> make_lane(ContextState* context, bool blocking);
  void end_lane(Lane& lane, std::unique_lock<std::mutex>& lock);
  Lane* lane_of(Stream stream, ContextState* current);
  Point enqueue(Lane& lane, Work work);
  bool over(const Point& point) const;
  bool idle(const Lane& lane) const;
  bool in_use(const void* host, std::size_t bytes, Pointer device, std::size_t device_bytes) const;
  const Allocation* holding(Pointer pointer, std::size_t bytes) const;
  Pointer allocate(std::size_t bytes, const Allocation& as);

 private:
  void serve(Lane& lane);
  std::vector<Lane*> lanes() const;
};

// Never destroyed, because threads of the program may still run this code at exit.
Driver& driver();
// The contexts that this thread has pushed. The last one is current.
std::vector<ContextState*>& stack();

}  // namespace millrace::staging::cuda::fake
