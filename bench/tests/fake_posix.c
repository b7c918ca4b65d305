/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A preload that does what one for device memory has to do, for the addresses of fake_cuda.c.
 * FAKE_POSIX_SPOILS=1: the first byte that is written is another one. FAKE_POSIX_TOLD: nothing is read unless
 * MILLRACE_POSIX_ASYNC is that. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define DEVICE_BIT (1ULL << 62)

static void* memory_of(const void* pointer) { return (void*)((uintptr_t)pointer & ~DEVICE_BIT); }

API size_t fwrite(const void* data, size_t size, size_t count, FILE* file) {
  size_t (*real)(const void*, size_t, size_t, FILE*) =
      (size_t(*)(const void*, size_t, size_t, FILE*))(uintptr_t)dlsym(RTLD_NEXT, "fwrite");
  const char* spoils = getenv("FAKE_POSIX_SPOILS");
  if (spoils == NULL || spoils[0] != '1') return real(memory_of(data), size, count, file);
  char* copy = malloc(size * count);
  memcpy(copy, memory_of(data), size * count);
  copy[0] ^= 1;
  const size_t done = real(copy, size, count, file);
  free(copy);
  return done;
}

API size_t fread(void* data, size_t size, size_t count, FILE* file) {
  size_t (*real)(void*, size_t, size_t, FILE*) =
      (size_t(*)(void*, size_t, size_t, FILE*))(uintptr_t)dlsym(RTLD_NEXT, "fread");
  const char *told = getenv("FAKE_POSIX_TOLD"), *files = getenv("MILLRACE_POSIX_ASYNC");
  if (told != NULL && (files == NULL || strcmp(told, files) != 0)) return 0;
  return real(memory_of(data), size, count, file);
}
