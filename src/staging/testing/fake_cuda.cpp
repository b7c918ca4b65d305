// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// A libcuda.so.1 for tests. Device addresses are a view of memory that the host cannot access. Each stream is
// a thread. A test can make every call fail.
#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "staging/testing/fake_cuda_call.hpp"

namespace millrace::staging::cuda::fake {
namespace {

Error copy(void* host, Pointer device, std::size_t bytes, Stream stream, bool to_host) {
  Call call;
  if (!call.ok()) return call.error();
  Driver& all = driver();
  if (current() == nullptr) return no_context();
  Lane* lane = all.lane_of(stream, current());
  if (lane == nullptr) return invalid_handle;
  if (lane->context != current()) {
    all.wrong("a stream of another context");
    return invalid_handle;
  }
  if (all.holding(device, bytes) == nullptr) return invalid_value;
  std::byte* inside = all.inside + (device - reinterpret_cast<Pointer>(all.view));
  all.enqueue(*lane, {{},
                      [=] { to_host ? std::memcpy(host, inside, bytes) : std::memcpy(inside, host, bytes); },
                      host,
                      bytes,
                      device});
  return success;
}

}  // namespace
}  // namespace millrace::staging::cuda::fake

using namespace millrace::staging::cuda;
using namespace millrace::staging::cuda::fake;

EXPORT Error cuInit(unsigned) {
  const Call call(false);
  driver().map_memory();  // a program that does not know the fake never calls fake_cuda_reset()
  if (call.ok()) driver().initialized = true;
  return call.error();
}

EXPORT Error cuGetErrorName(Error error, const char** name) {
  *name = error == 999 ? "CUDA_ERROR_UNKNOWN" : "CUDA_ERROR_OF_THE_FAKE";
  return success;
}

EXPORT Error cuDeviceGetCount(int* count) {
  const Call call;
  *count = devices;
  return call.error();
}

EXPORT Error cuDevicePrimaryCtxRetain(Context* context, Ordinal device) {
  const Call call;
  if (!call.ok() || device < 0 || device >= devices) return call.ok() ? invalid_device : call.error();
  ContextState*& primary = driver().primary[device];
  if (primary == nullptr) primary = driver().make_context(device);
  ++primary->retained;
  *context = reinterpret_cast<Context>(primary);
  return success;
}

EXPORT Error cuDevicePrimaryCtxRelease_v2(Ordinal device) {
  Call call;
  if (!call.acts()) return call.error();
  ContextState*& primary = driver().primary[device];
  if (primary == nullptr || primary->retained == 0) {
    driver().wrong("a primary context was released too often");
    return invalid_context;
  }
  if (--primary->retained == 0) driver().end_context(std::exchange(primary, nullptr), call.lock());
  return call.error();
}

EXPORT Error cuDevicePrimaryCtxGetState(Ordinal device, unsigned* flags, int* active) {
  const Call call;
  *flags = 0;
  *active = driver().primary[device] != nullptr ? 1 : 0;
  return call.error();
}

EXPORT Error cuCtxCreate_v2(Context* context, unsigned, Ordinal device) {
  const Call call;
  if (!call.ok()) return call.error();
  ContextState* made = driver().make_context(device);
  stack().push_back(made);
  *context = reinterpret_cast<Context>(made);
  return success;
}

EXPORT Error cuCtxDestroy_v2(Context context) {
  Call call;
  auto* state = reinterpret_cast<ContextState*>(context);
  driver().end_context(state, call.lock());
  if (!stack().empty() && stack().back() == state) stack().pop_back();
  return call.error();
}

EXPORT Error cuCtxGetId(Context context, unsigned long long* id) {
  const Call call;
  *id = reinterpret_cast<ContextState*>(context)->id;
  return call.error();
}

EXPORT Error cuCtxGetCurrent(Context* context) {
  const Call call;
  *context = stack().empty() ? nullptr : reinterpret_cast<Context>(stack().back());
  return call.error();
}

EXPORT Error cuCtxPushCurrent_v2(Context context) {
  const Call call;
  auto* state = reinterpret_cast<ContextState*>(context);
  if (!call.ok()) return call.error();
  if (!driver().known(state)) return invalid_context;
  if (!state->alive) return context_is_destroyed;
  stack().push_back(state);
  ++driver().pushed;
  return success;
}

EXPORT Error cuCtxPopCurrent_v2(Context* context) {
  const Call call;
  if (!call.acts()) return call.error();
  if (stack().empty()) return invalid_context;
  *context = reinterpret_cast<Context>(stack().back());
  stack().pop_back();
  --driver().pushed;
  return call.error();
}

EXPORT Error cuMemAlloc_v2(Pointer* pointer, std::size_t bytes) {
  const Call call;
  if (!call.ok()) return call.error();
  if (current() == nullptr) return no_context();
  if (bytes == 0) return invalid_value;
  *pointer = driver().allocate(bytes, {0, current(), current()->ordinal});
  return *pointer != 0 ? success : out_of_memory;
}

// Memory of a device's pool, which belongs to no context.
EXPORT Error cuMemAllocAsync(Pointer* pointer, std::size_t bytes, Stream) {
  const Call call;
  if (!call.ok() || current() == nullptr) return call.ok() ? no_context() : call.error();
  *pointer = driver().allocate(bytes, {0, nullptr, current()->ordinal});
  return *pointer != 0 ? success : out_of_memory;
}

// Memory that the host can access too.
EXPORT Error cuMemAllocManaged(Pointer* pointer, std::size_t bytes, unsigned) {
  const Call call;
  if (!call.ok() || current() == nullptr) return call.ok() ? no_context() : call.error();
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return out_of_memory;
  *pointer = reinterpret_cast<Pointer>(memory);
  driver().allocations[*pointer] = {bytes, current(), current()->ordinal, memory_type_device, true};
  return success;
}

EXPORT Error cuMemFree_v2(Pointer pointer) {
  const Call call;
  if (!call.acts()) return call.error();
  const auto found = driver().allocations.find(pointer);
  if (found == driver().allocations.end()) {
    driver().wrong("memory was freed that is not there");
    return invalid_value;
  }
  if (driver().in_use(nullptr, 0, pointer, found->second.bytes)) driver().wrong("memory freed under a copy");
  if (found->second.managed) munmap(reinterpret_cast<void*>(pointer), found->second.bytes);
  driver().allocations.erase(found);
  return call.error();
}

EXPORT Error cuMemHostRegister_v2(void* host, std::size_t bytes, unsigned) {
  const Call call;
  if (!call.ok()) return call.error();
  if (driver().refuse_pins != success) return driver().refuse_pins;
  auto& known = driver().registrations;
  auto* begin = static_cast<std::byte*>(host);
  for (const auto& [at, size] : known) {
    if (begin >= at + size || at >= begin + bytes) continue;
    driver().wrong("memory was registered twice");
    return already_registered;
  }
  known.emplace(begin, bytes);
  return success;
}

EXPORT Error cuMemHostUnregister(void* host) {
  const Call call;
  if (!call.acts()) return call.error();
  auto& known = driver().registrations;
  const auto found = known.find(static_cast<std::byte*>(host));
  if (found == known.end()) {
    driver().wrong("memory was unregistered that is not registered");
    return not_registered;
  }
  if (driver().in_use(host, found->second, 0, 0)) driver().wrong("memory unregistered under a copy");
  known.erase(found);
  return call.error();
}

EXPORT Error cuPointerGetAttributes(unsigned count, int* attributes, void** values, Pointer pointer) {
  const Call call;
  if (!call.ok()) return call.error();
  const Allocation* found = driver().holding(pointer, 1);
  for (unsigned i = 0; i < count; ++i) {
    switch (attributes[i]) {
      case attribute_context:
        *static_cast<Context*>(values[i]) =
            found == nullptr ? nullptr : reinterpret_cast<Context>(found->context);
        break;
      case attribute_memory_type:
        *static_cast<unsigned*>(values[i]) = found == nullptr ? 0 : found->type;
        break;
      case attribute_is_managed:
        *static_cast<unsigned*>(values[i]) = found != nullptr && found->managed ? 1 : 0;
        break;
      case attribute_ordinal:
        *static_cast<int*>(values[i]) = found == nullptr ? -2 : found->ordinal;
        break;
      default:
        return invalid_value;
    }
  }
  return success;
}

EXPORT Error cuMemcpyDtoHAsync_v2(void* to, Pointer from, std::size_t bytes, Stream stream) {
  return copy(to, from, bytes, stream, true);
}

EXPORT Error cuMemcpyHtoDAsync_v2(Pointer to, const void* from, std::size_t bytes, Stream stream) {
  return copy(const_cast<void*>(from), to, bytes, stream, false);
}
