// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// Functions that programs call and Millrace does not. They use the functions that Millrace calls.
#include <cstdio>
#include <cstdlib>

#include "staging/testing/fake_cuda_call.hpp"

using namespace millrace::staging::cuda;
using namespace millrace::staging::cuda::fake;

extern "C" {
Error cuGetErrorName(Error error, const char** name);
Error cuMemcpyDtoHAsync_v2(void* to, Pointer from, std::size_t bytes, Stream stream);
Error cuMemcpyHtoDAsync_v2(Pointer to, const void* from, std::size_t bytes, Stream stream);
Error cuMemHostRegister_v2(void* host, std::size_t bytes, unsigned flags);
Error cuMemHostUnregister(void* host);
Error cuStreamSynchronize(Stream stream);
}

EXPORT Error cuGetErrorString(Error error, const char** text) { return cuGetErrorName(error, text); }

EXPORT Error cuDeviceGet(Ordinal* device, int index) {
  const Call call;
  *device = index;
  if (!call.ok()) return call.error();
  return index >= 0 && index < devices ? success : invalid_device;
}

EXPORT Error cuDeviceGetName(char* name, int size, Ordinal device) {
  const Call call;
  std::snprintf(name, static_cast<std::size_t>(size), "fake device %d", device);
  return call.error();
}

// Replaces the thread's current context, or sets its first one.
EXPORT Error cuCtxSetCurrent(Context context) {
  const Call call;
  auto* state = reinterpret_cast<ContextState*>(context);
  if (!call.ok()) return call.error();
  if (!driver().known(state)) return invalid_context;
  if (stack().empty()) {
    stack().push_back(state);
  } else {
    stack().back() = state;
  }
  return success;
}

EXPORT Error cuMemHostAlloc(void** host, std::size_t bytes, unsigned flags) {
  constexpr std::size_t page = 4096;
  *host = std::aligned_alloc(page, (bytes + page - 1) / page * page);
  return *host != nullptr ? cuMemHostRegister_v2(*host, bytes, flags) : out_of_memory;
}

EXPORT Error cuMemFreeHost(void* host) {
  const Error error = cuMemHostUnregister(host);
  std::free(host);
  return error;
}

EXPORT Error cuMemcpyDtoH_v2(void* to, Pointer from, std::size_t bytes) {
  const Error error = cuMemcpyDtoHAsync_v2(to, from, bytes, nullptr);
  return error == success ? cuStreamSynchronize(nullptr) : error;
}

EXPORT Error cuMemcpyHtoD_v2(Pointer to, const void* from, std::size_t bytes) {
  const Error error = cuMemcpyHtoDAsync_v2(to, from, bytes, nullptr);
  return error == success ? cuStreamSynchronize(nullptr) : error;
}
