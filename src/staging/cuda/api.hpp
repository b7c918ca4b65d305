// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// The functions of the CUDA driver that Millrace calls, with their names in libcuda.so.1, and their
// documented values. So the build needs no CUDA headers.
namespace millrace::staging::cuda {

using Error = int;    // CUresult
using Ordinal = int;  // CUdevice
using Pointer = std::uint64_t;
using Context = struct ContextTag*;
using Stream = struct StreamTag*;
using Event = struct EventTag*;

inline constexpr Error success = 0;
inline constexpr Error invalid_value = 1;
inline constexpr Error out_of_memory = 2;
inline constexpr Error not_initialized = 3;
inline constexpr Error deinitialized = 4;
inline constexpr Error invalid_context = 201;
inline constexpr Error not_ready = 600;
inline constexpr Error context_is_destroyed = 709;
inline constexpr Error already_registered = 712;
inline constexpr Error not_registered = 713;

inline constexpr unsigned host_register_portable = 1;  // pinned for all contexts
inline constexpr unsigned stream_non_blocking = 1;     // the stream is not ordered with the legacy stream
inline constexpr unsigned event_blocking_sync = 1;     // a waiting thread sleeps
inline constexpr unsigned event_disable_timing = 2;

// The legacy stream: it waits for all streams of its context except the non-blocking ones, and they wait for
// it.
inline Stream legacy_stream() { return reinterpret_cast<Stream>(std::uintptr_t{1}); }

// CUpointer_attribute, CUmemorytype
inline constexpr int attribute_context = 1;
inline constexpr int attribute_memory_type = 2;
inline constexpr int attribute_is_managed = 8;
inline constexpr int attribute_ordinal = 9;
inline constexpr unsigned memory_type_device = 2;

struct ContextFunctions {
  Error (*cuInit)(unsigned flags);
  Error (*cuGetErrorName)(Error error, const char** name);
  Error (*cuDeviceGetCount)(int* count);
  Error (*cuDevicePrimaryCtxRetain)(Context* context, Ordinal device);
  Error (*cuDevicePrimaryCtxRelease_v2)(Ordinal device);
  Error (*cuDevicePrimaryCtxGetState)(Ordinal device, unsigned* flags, int* active);
  Error (*cuCtxPushCurrent_v2)(Context context);
  Error (*cuCtxPopCurrent_v2)(Context* context);
  Error (*cuCtxGetId)(Context context, unsigned long long* id);  // null before CUDA 12
};

struct MemoryFunctions {
  Error (*cuMemAlloc_v2)(Pointer* pointer, std::size_t bytes);
  Error (*cuMemFree_v2)(Pointer pointer);
  Error (*cuMemHostRegister_v2)(void* host, std::size_t bytes, unsigned flags);
  Error (*cuMemHostUnregister)(void* host);
  Error (*cuPointerGetAttributes)(unsigned count, int* attributes, void** values, Pointer pointer);
};

struct StreamFunctions {
  Error (*cuMemcpyDtoHAsync_v2)(void* to, Pointer from, std::size_t bytes, Stream stream);
  Error (*cuMemcpyHtoDAsync_v2)(Pointer to, const void* from, std::size_t bytes, Stream stream);
  Error (*cuStreamCreate)(Stream* stream, unsigned flags);
  Error (*cuStreamQuery)(Stream stream);
  Error (*cuStreamSynchronize)(Stream stream);
  Error (*cuStreamDestroy_v2)(Stream stream);
  Error (*cuEventCreate)(Event* event, unsigned flags);
  Error (*cuEventRecord)(Event event, Stream stream);
  Error (*cuEventQuery)(Event event);
  Error (*cuEventSynchronize)(Event event);
  Error (*cuEventDestroy_v2)(Event event);
};

struct Table : ContextFunctions, MemoryFunctions, StreamFunctions {};

}  // namespace millrace::staging::cuda
