/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory of a CUDA device for tests: of the fake driver, whose memory can be looked at, or of a real one, of
 * which the host keeps a copy that is brought there after it was filled, and back before it is looked at. */
#ifndef MILLRACE_TESTS_GPU_H
#define MILLRACE_TESTS_GPU_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a real driver's memory comes from. The fake one has only the first. */
enum gpu_kind {
  gpu_plain = 0,   /* cuMemAlloc, in the primary context */
  gpu_context,     /* cuMemAlloc, in a context that the program made */
  gpu_not_current, /* cuMemAlloc, and no context is current while the program transfers */
  gpu_pool,        /* cuMemAllocAsync */
  gpu_mapped,      /* cuMemCreate and cuMemMap */
  gpu_managed,     /* cuMemAllocManaged: the host may use it too */
  gpu_kinds
};

static void *gpu_driver, *gpu_own_context, *gpu_function_change, *gpu_blocking, *gpu_separate;
static char *gpu_memory, *gpu_bytes; /* as calls get it; as its bytes can be looked at */
static size_t gpu_size;
static int gpu_is_real;
static enum gpu_kind gpu_memory_kind;

static inline void* gpu_function(const char* name) {
  void* found = dlsym(gpu_driver, name);
  if (found == NULL) {
    fprintf(stderr, "the driver has no %s\n", name);
    exit(2);
  }
  return found;
}

static inline void gpu_check(int error, const char* what) {
  if (error == 0) return;
  fprintf(stderr, "%s: CUDA error %d\n", what, error);
  exit(2);
}

#define GPU(name, types, ...) gpu_check(((int(*) types)gpu_function(name))(__VA_ARGS__), name)

static inline void gpu_enter(void) {
  if (gpu_memory_kind == gpu_not_current) GPU("cuCtxPushCurrent_v2", (void*), gpu_own_context);
}

static inline void gpu_leave(void) {
  void* popped = NULL;
  if (gpu_memory_kind == gpu_not_current) GPU("cuCtxPopCurrent_v2", (void**), &popped);
}

/* CUmemAllocationProp and CUmemAccessDesc, as far as they are not zero. */
struct gpu_allocation {
  int type, handle_types, location_type, location;
  void* metadata;
  unsigned char flags[8];
  unsigned char room[64];
};
struct gpu_access {
  int location_type, location, flags;
};

static inline uint64_t gpu_allocate(size_t size) {
  uint64_t pointer = 0;
  void* stream = NULL;
  if (gpu_memory_kind == gpu_pool) {
    GPU("cuMemAllocAsync", (uint64_t*, size_t, void*), &pointer, size, stream);
    GPU("cuStreamSynchronize", (void*), stream);
  } else if (gpu_memory_kind == gpu_managed) {
    GPU("cuMemAllocManaged", (uint64_t*, size_t, unsigned), &pointer, size, 1U);
  } else if (gpu_memory_kind == gpu_mapped) {
    struct gpu_allocation how = {.type = 1, .location_type = 1};
    struct gpu_access access = {1, 0, 3};
    size_t unit = 0;
    uint64_t handle = 0;
    GPU("cuMemGetAllocationGranularity", (size_t*, const struct gpu_allocation*, int), &unit, &how, 0);
    size = (size + unit - 1) / unit * unit;
    GPU("cuMemCreate", (uint64_t*, size_t, const struct gpu_allocation*, unsigned long long), &handle, size,
        &how, 0ULL);
    GPU("cuMemAddressReserve", (uint64_t*, size_t, size_t, uint64_t, unsigned long long), &pointer, size,
        (size_t)0, (uint64_t)0, 0ULL);
    GPU("cuMemMap", (uint64_t, size_t, size_t, uint64_t, unsigned long long), pointer, size, (size_t)0,
        handle, 0ULL);
    GPU("cuMemSetAccess", (uint64_t, size_t, const struct gpu_access*, size_t), pointer, size, &access,
        (size_t)1);
  } else {
    GPU("cuMemAlloc_v2", (uint64_t*, size_t), &pointer, size);
  }
  return pointer;
}

/* Waits so many cycles, and then makes of each byte b: 3 b + 1. */
static const char gpu_program[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry change(.param .u64 at, .param .u64 size, .param .u64 cycles) {\n"
    "  .reg .pred %p<3>;\n  .reg .b32 %r<8>;\n  .reg .b64 %d<10>;\n"
    "  ld.param.u64 %d1, [at];\n  ld.param.u64 %d2, [size];\n  ld.param.u64 %d3, [cycles];\n"
    "  mov.u64 %d4, %clock64;\n"
    "wait:\n  mov.u64 %d5, %clock64;\n  sub.u64 %d6, %d5, %d4;\n  setp.lt.u64 %p1, %d6, %d3;\n  @%p1 bra "
    "wait;\n"
    "  mov.u32 %r1, %tid.x;\n  mov.u32 %r2, %ntid.x;\n  mov.u32 %r3, %ctaid.x;\n  mov.u32 %r4, %nctaid.x;\n"
    "  mad.lo.u32 %r5, %r3, %r2, %r1;\n  mul.lo.u32 %r6, %r2, %r4;\n"
    "  cvt.u64.u32 %d7, %r5;\n  cvt.u64.u32 %d8, %r6;\n"
    "next:\n  setp.ge.u64 %p2, %d7, %d2;\n  @%p2 bra done;\n  add.u64 %d9, %d1, %d7;\n"
    "  ld.global.u8 %r7, [%d9];\n  mad.lo.u32 %r7, %r7, 3, 1;\n  st.global.u8 [%d9], %r7;\n"
    "  add.u64 %d7, %d7, %d8;\n  bra next;\n"
    "done:\n  ret;\n}\n";

/* Opens the driver of this name and allocates. `kind` counts for a real one only, `seed` for the fake one.
 * Returns 0 where the driver can't be opened. */
static inline int gpu_open(const char* name, size_t size, unsigned kind, uint64_t seed) {
  gpu_driver = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (gpu_driver == NULL) return 0;
  void (*reset)(uint64_t, unsigned) = (void (*)(uint64_t, unsigned))dlsym(gpu_driver, "fake_cuda_reset");
  gpu_is_real = reset == NULL;
  gpu_memory_kind = gpu_is_real ? (enum gpu_kind)(kind % gpu_kinds) : gpu_plain;
  if (!gpu_is_real) reset(seed, (unsigned)(seed % 3) * 100);
  GPU("cuInit", (unsigned), 0U);
  if (gpu_memory_kind == gpu_context) {
    GPU("cuCtxCreate_v2", (void**, unsigned, int), &gpu_own_context, 0U, 0);
  } else {
    GPU("cuDevicePrimaryCtxRetain", (void**, int), &gpu_own_context, 0);
    GPU("cuCtxPushCurrent_v2", (void*), gpu_own_context);
  }
  uint64_t pointer = gpu_allocate(size);
  gpu_memory = (char*)(uintptr_t)pointer;
  gpu_size = size;
  if (!gpu_is_real) {
    gpu_bytes = ((void* (*)(uint64_t))gpu_function("fake_cuda_inside"))(pointer);
    return 1;
  }
  void *module = NULL, *popped = NULL;
  gpu_bytes = calloc(1, size);
  GPU("cuMemcpyHtoD_v2", (uint64_t, const void*, size_t), pointer, gpu_bytes, size);
  GPU("cuModuleLoadData", (void**, const void*), &module, gpu_program);
  GPU("cuModuleGetFunction", (void**, void*, const char*), &gpu_function_change, module, "change");
  GPU("cuStreamCreate", (void**, unsigned), &gpu_blocking, 0U);
  GPU("cuStreamCreate", (void**, unsigned), &gpu_separate, 1U);
  if (gpu_memory_kind == gpu_not_current) GPU("cuCtxPopCurrent_v2", (void**), &popped);
  return 1;
}

/* After bytes in host memory were filled: does nothing where they are not the copy of a device's. */
static inline void gpu_upload(const char* from, size_t size) {
  if (!gpu_is_real || from < gpu_bytes || from >= gpu_bytes + gpu_size) return;
  gpu_enter();
  GPU("cuMemcpyHtoD_v2", (uint64_t, const void*, size_t), (uintptr_t)gpu_memory + (size_t)(from - gpu_bytes),
      from, size);
  GPU("cuStreamSynchronize", (void*), NULL);
  gpu_leave();
}

/* Before bytes in host memory are looked at, likewise. */
static inline void gpu_download(const char* into, size_t size) {
  if (!gpu_is_real || into < gpu_bytes || into >= gpu_bytes + gpu_size) return;
  gpu_enter();
  GPU("cuMemcpyDtoH_v2", (void*, uint64_t, size_t), gpu_bytes + (into - gpu_bytes),
      (uintptr_t)gpu_memory + (size_t)(into - gpu_bytes), size);
  gpu_leave();
}

/* A kernel makes of each byte b of `bytes`, which begins `at` bytes into the memory: 3 b + 1. `way` 0: in the
 * default stream; 1: in one that is ordered with it; 2: in one that is not, for which the program waits. A
 * real device's kernel still runs when this returns, but for 2 and for memory that the host may use. */
static inline void gpu_change(char* bytes, size_t at, size_t size, unsigned way) {
  if (!gpu_is_real) {
    for (size_t i = 0; i < size; i++) bytes[at + i] = (char)(bytes[at + i] * 3 + 1);
    return;
  }
  uint64_t pointer = (uintptr_t)gpu_memory + at, length = size, cycles = 20 * 1000 * 1000;
  void* arguments[] = {&pointer, &length, &cycles};
  void* stream = way == 0 ? NULL : way == 1 ? gpu_blocking : gpu_separate;
  gpu_enter();
  GPU("cuLaunchKernel",
      (void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**),
      gpu_function_change, 8U, 1U, 1U, 128U, 1U, 1U, 0U, stream, arguments, NULL);
  if (way == 2 || gpu_memory_kind == gpu_managed) GPU("cuStreamSynchronize", (void*), stream);
  gpu_leave();
}

#endif
