/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * As much of NVIDIA's driver as the measuring programs use. Device addresses have a bit set that makes them
 * no memory of the host; what is asynchronous happens as late as it may: when its stream is waited for.
 * FAKE_CUDA_DEVICES: how many (1). FAKE_CUDA_LOSES=1: the last byte of each copy is lost. */
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define DEVICE_BIT (1ULL << 62)

typedef unsigned long long Address;
struct copy {
  void* to;
  const void* from;
  size_t size;
  struct copy* next;
};
struct stream {
  struct copy *first, **last;
};

static void* memory_of(Address device) {
  if (!(device & DEVICE_BIT)) abort();
  return (void*)(device & ~DEVICE_BIT);
}

static void move(void* to, const void* from, size_t size) {
  const char* loses = getenv("FAKE_CUDA_LOSES");
  memcpy(to, from, loses != NULL && loses[0] == '1' && size > 0 ? size - 1 : size);
}

static int enqueue(struct stream* stream, void* to, const void* from, size_t size) {
  struct copy* copy = malloc(sizeof *copy);
  *copy = (struct copy){to, from, size, NULL};
  *stream->last = copy;
  stream->last = &copy->next;
  return 0;
}

API int cuInit(unsigned flags) { return flags == 0 ? 0 : 1; }

API int cuGetErrorString(int code, const char** text) {
  *text = code == 0 ? "no error" : "fake error";
  return 0;
}

API int cuDeviceGetCount(int* count) {
  const char* wanted = getenv("FAKE_CUDA_DEVICES");
  *count = wanted != NULL ? atoi(wanted) : 1;
  return 0;
}

API int cuDeviceGet(int* device, int index) {
  *device = index;
  return 0;
}

API int cuDeviceGetName(char* name, int size, int device) {
  (void)device;
  strncpy(name, "fake", (size_t)size);
  return 0;
}

API int cuDevicePrimaryCtxRetain(void** context, int device) {
  (void)device;
  *context = context;
  return 0;
}

API int cuDevicePrimaryCtxRelease_v2(int device) { return device < 0; }
API int cuCtxSetCurrent(void* context) {
  (void)context;
  return 0;
}

API int cuMemAlloc_v2(Address* address, size_t size) {
  *address = (Address)malloc(size) | DEVICE_BIT;
  return 0;
}

API int cuMemFree_v2(Address address) {
  free(memory_of(address));
  return 0;
}

API int cuMemHostAlloc(void** memory, size_t size, unsigned flags) {
  (void)flags;
  *memory = malloc(size);
  return *memory == NULL;
}

API int cuMemFreeHost(void* memory) {
  free(memory);
  return 0;
}

API int cuMemcpyHtoD_v2(Address device, const void* host, size_t size) {
  move(memory_of(device), host, size);
  return 0;
}

API int cuMemcpyDtoH_v2(void* host, Address device, size_t size) {
  move(host, memory_of(device), size);
  return 0;
}

API int cuMemcpyHtoDAsync_v2(Address device, const void* host, size_t size, struct stream* stream) {
  return enqueue(stream, memory_of(device), host, size);
}

API int cuMemcpyDtoHAsync_v2(void* host, Address device, size_t size, struct stream* stream) {
  return enqueue(stream, host, memory_of(device), size);
}

API int cuStreamCreate(struct stream** stream, unsigned flags) {
  (void)flags;
  *stream = malloc(sizeof **stream);
  **stream = (struct stream){NULL, &(*stream)->first};
  return 0;
}

API int cuStreamSynchronize(struct stream* stream) {
  while (stream != NULL && stream->first != NULL) {
    struct copy* copy = stream->first;
    move(copy->to, copy->from, copy->size);
    stream->first = copy->next;
    if (stream->first == NULL) stream->last = &stream->first;
    free(copy);
  }
  return 0;
}

API int cuStreamDestroy_v2(struct stream* stream) {
  free(stream);
  return 0;
}
