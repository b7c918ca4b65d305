// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/cuda/find.hpp"

#include <unistd.h>

#include <mutex>
#include <vector>

#include "staging/cuda/cuda_device.hpp"
#include "staging/cuda/library.hpp"

namespace millrace::staging::cuda {

namespace {

constexpr std::size_t contexts_max = 64;

// A context of the program, and its device. A later context may have the same handle. If the driver numbers
// contexts, `id` tells them apart.
struct Known {
  Context context;
  unsigned long long id;
  std::unique_ptr<CudaDevice> device;
};

struct Registry {
  std::mutex mutex;
  std::vector<Known> known;  // guarded by mutex
  pid_t process = getpid();
};

// Never destroyed, because threads of the program may still write while the process ends, after the driver
// has shut down.
Registry& registry() {
  static auto& one = *new Registry;
  return one;
}

Device* known_device(const Table& table, Context context, Ordinal ordinal, bool& is_new) {
  unsigned long long id = 0;
  if (table.cuCtxGetId != nullptr) (void)table.cuCtxGetId(context, &id);
  Registry& all = registry();
  is_new = false;
  for (const Known& known : all.known) {
    if (known.context == context && known.id == id && !known.device->lost()) return known.device.get();
  }
  if (all.known.size() >= contexts_max) return nullptr;
  is_new = true;
  all.known.push_back({context, id, std::make_unique<CudaDevice>(table, context, ordinal, false, Options{})});
  return all.known.back().device.get();
}

// For memory without a context (pools, mapped ranges): the device with its primary context, if the program
// has made that context active. The context is retained once and never released.
Device* primary_device(const Table& table, Ordinal ordinal) {
  unsigned flags = 0;
  int active = 0;
  Context context = nullptr;
  if (table.cuDevicePrimaryCtxGetState(ordinal, &flags, &active) != success || active == 0) return nullptr;
  if (table.cuDevicePrimaryCtxRetain(&context, ordinal) != success) return nullptr;
  bool is_new = false;
  Device* device = known_device(table, context, ordinal, is_new);
  if (!is_new) (void)table.cuDevicePrimaryCtxRelease_v2(ordinal);
  return device;
}

}  // namespace

Device* device_of(const void* pointer) {
  std::string why;
  const Table* table = driver(false, why);
  if (table == nullptr) return nullptr;
  Registry& all = registry();
  if (all.process != getpid()) return nullptr;
  const PointerClass found = classify(*table, address_of(pointer));
  if (!found.device) return nullptr;
  const std::lock_guard lock(all.mutex);
  bool is_new = false;
  return found.context != nullptr ? known_device(*table, found.context, found.ordinal, is_new)
                                  : primary_device(*table, found.ordinal);
}

}  // namespace millrace::staging::cuda
