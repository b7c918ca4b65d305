// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/device/door.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace millrace::front::device {

constinit std::atomic<bool> driver_seen{false};

namespace {

constinit thread_local bool inside = false;

constinit std::atomic<unsigned long long> loads_seen{0};
constinit std::atomic<const staging::DeviceEntry*> the_entry{nullptr};
constinit std::atomic<bool> absent{false};

// The loader's record of the first object already has the number of objects that were ever loaded.
int count_loads(dl_phdr_info* info, size_t, void* loads) {
  *static_cast<unsigned long long*>(loads) = info->dlpi_adds;
  return 1;
}

int is_driver(dl_phdr_info* info, size_t, void*) {
  constexpr char name[] = "libcuda.so";
  const char* slash = info->dlpi_name != nullptr ? strrchr(info->dlpi_name, '/') : nullptr;
  return slash != nullptr && strncmp(slash + 1, name, sizeof name - 1) == 0 ? 1 : 0;
}

const staging::DeviceEntry* load() {
  Dl_info self;
  char path[4096];
  if (dladdr(reinterpret_cast<void*>(&look), &self) == 0 || self.dli_fname == nullptr) return nullptr;
  const char* slash = strrchr(self.dli_fname, '/');
  const int folder = slash != nullptr ? static_cast<int>(slash - self.dli_fname) + 1 : 0;
  snprintf(path, sizeof path, "%.*s%s", folder, self.dli_fname, staging::entry_library);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  const char* why = library == nullptr ? dlerror() : "it belongs to another version of Millrace";
  const auto function = library == nullptr
                            ? nullptr
                            : reinterpret_cast<staging::EntryFunction>(dlsym(library, staging::entry_symbol));
  const staging::DeviceEntry* found = function != nullptr ? function(staging::entry_version) : nullptr;
  if (found == nullptr && !absent.exchange(true))
    dprintf(STDERR_FILENO,
            "millrace: device memory cannot be staged, so such transfers fail; install Millrace again: %s\n",
            why);
  return found;
}

// There is no lock, because the process may fork at any time. Two threads may load the library twice, with
// the same result.
const staging::DeviceEntry* entry() {
  if (const staging::DeviceEntry* known = the_entry.load(std::memory_order_acquire)) return known;
  if (absent.load(std::memory_order_relaxed)) return nullptr;
  const staging::DeviceEntry* found = load();
  the_entry.store(found, std::memory_order_release);
  return found;
}

// Places (addresses without their last 16 bits) that the driver lately called the host's.
constexpr unsigned place_bits = 16;
constinit thread_local std::array<std::uintptr_t, 16> host_places = {};

}  // namespace

void look() {
  if (driver_seen.load(std::memory_order_relaxed)) return;
  unsigned long long loads = 0;
  (void)dl_iterate_phdr(count_loads, &loads);
  if (loads == loads_seen.load(std::memory_order_relaxed)) return;
  loads_seen.store(loads, std::memory_order_relaxed);
  if (dl_iterate_phdr(is_driver, nullptr) != 0) driver_seen.store(true, std::memory_order_relaxed);
}

Found ask(const void* pointer, bool remembers) {
  const std::uintptr_t place = reinterpret_cast<std::uintptr_t>(pointer) >> place_bits;
  std::uintptr_t& known = host_places[place % host_places.size()];
  if (inside || place == 0 || (remembers && known == place)) return {};
  const int error = errno;
  const Inside now;
  const staging::DeviceEntry* table = entry();
  const Found found{table, table != nullptr ? table->device_of(pointer) : nullptr};
  if (!found) known = place;
  errno = error;
  return found;
}

Inside::Inside() {
  inside = true;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable_);
}

Inside::~Inside() {
  pthread_setcancelstate(cancellable_, nullptr);
  inside = false;
}

}  // namespace millrace::front::device
