// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/cuda/library.hpp"

#include <dlfcn.h>

#include <atomic>
#include <mutex>

namespace millrace::staging::cuda {

namespace {

constexpr const char* library_name = "libcuda.so.1";

std::mutex table_mutex;
Table table_memory;  // guarded by table_mutex until `ready`
std::atomic<const Table*> ready{nullptr};

template <class Function>
bool find(void* library, const char* name, Function*& function) {
  // dlsym returns the address of the function as a data pointer.
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

// Returns the name of the first function that the library lacks, or null.
const char* fill(void* library, Table& table) {
#define FIND(name) \
  if (!find(library, #name, table.name)) return #name
  FIND(cuInit);
  FIND(cuGetErrorName);
  FIND(cuDeviceGetCount);
  FIND(cuDevicePrimaryCtxRetain);
  FIND(cuDevicePrimaryCtxRelease_v2);
  FIND(cuDevicePrimaryCtxGetState);
  FIND(cuCtxPushCurrent_v2);
  FIND(cuCtxPopCurrent_v2);
  FIND(cuMemAlloc_v2);
  FIND(cuMemFree_v2);
  FIND(cuMemHostRegister_v2);
  FIND(cuMemHostUnregister);
  FIND(cuPointerGetAttributes);
  FIND(cuMemcpyDtoHAsync_v2);
  FIND(cuMemcpyHtoDAsync_v2);
  FIND(cuStreamCreate);
  FIND(cuStreamQuery);
  FIND(cuStreamSynchronize);
  FIND(cuStreamDestroy_v2);
  FIND(cuEventCreate);
  FIND(cuEventRecord);
  FIND(cuEventQuery);
  FIND(cuEventSynchronize);
  FIND(cuEventDestroy_v2);
#undef FIND
  (void)find(library, "cuCtxGetId", table.cuCtxGetId);
  return nullptr;
}

}  // namespace

const Table* driver(bool may_load, std::string& why) {
  if (const Table* table = ready.load(std::memory_order_acquire)) return table;
  const std::lock_guard lock(table_mutex);
  if (const Table* table = ready.load(std::memory_order_relaxed)) return table;
  void* library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL | (may_load ? 0 : RTLD_NOLOAD));
  if (library == nullptr) {
    const char* said = may_load ? dlerror() : nullptr;
    why = may_load ? "the CUDA driver cannot be loaded" : "the program has not loaded the CUDA driver";
    if (said != nullptr) why += std::string(" (") + said + ")";
    return nullptr;
  }
  if (const char* missing = fill(library, table_memory)) {
    why = std::string("the CUDA driver is too old: it has no ") + missing;
    dlclose(library);
    return nullptr;
  }
  // The library stays open, because its functions stay in use.
  ready.store(&table_memory, std::memory_order_release);
  return &table_memory;
}

}  // namespace millrace::staging::cuda
