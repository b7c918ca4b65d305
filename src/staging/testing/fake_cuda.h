/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Functions of the fake libcuda.so.1 for tests, besides the driver's own. dlsym finds them too.
 */
#ifndef MILLRACE_FAKE_CUDA_H
#define MILLRACE_FAKE_CUDA_H

#include <stddef.h> /* NOLINT(modernize-deprecated-headers): C */
#include <stdint.h> /* NOLINT(modernize-deprecated-headers): C */

#ifdef __cplusplus
extern "C" {
#endif

/* Back to the state just after loading. Each piece of work then starts up to max_delay_us late. */
void fake_cuda_reset(uint64_t seed, unsigned max_delay_us);
/* Calls of the driver since the reset. The n-th (from 1) fails with `error`; a release still does its work.
 */
uint64_t fake_cuda_calls(void);
void fake_cuda_fail_at(uint64_t n, int error);
/* From now on every registration fails with `error`, if that is not 0. */
void fake_cuda_refuse_pins(int error);
/* While `stall` is not 0, no stream does any work. */
void fake_cuda_stall(int stall);

/* The objects that exist now, and the program's errors. */
typedef struct fake_cuda_live {
  int streams, events, registrations, allocations, retained, pushed;
  /* Calls that no program may make: register twice, unregister unknown memory, free memory that is copied to
   * or from, use a stream of another context... */
  int misuse;
  /* Registrations of memory that is not mapped any more. */
  int stale;
} fake_cuda_live;
void fake_cuda_get_live(fake_cuda_live* live);
const char* fake_cuda_last_misuse(void);

/* A kernel that sets bytes, after at least delay_us. */
int fake_cuda_fill(uint64_t pointer, int value, size_t bytes, void* stream, unsigned delay_us);
/* Device memory as the device sees it. */
void* fake_cuda_inside(uint64_t pointer);

#ifdef __cplusplus
}
#endif
#endif
