/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What a test can ask of the fake libcuda.so.1, besides the driver's own functions. All names by dlsym too.
 */
#ifndef MILLRACE_FAKE_CUDA_H
#define MILLRACE_FAKE_CUDA_H

#include <stddef.h> /* NOLINT(modernize-deprecated-headers): C */
#include <stdint.h> /* NOLINT(modernize-deprecated-headers): C */

#ifdef __cplusplus
extern "C" {
#endif

/* As a process that has just loaded the driver; delays of up to max_delay_us before each piece of work. */
void fake_cuda_reset(uint64_t seed, unsigned max_delay_us);
/* Calls of the driver since then. The n-th (from 1) fails with `error`; releases do their work all the same.
 */
uint64_t fake_cuda_calls(void);
void fake_cuda_fail_at(uint64_t n, int error);
/* From now on every registration fails with `error`, if that is not 0. */
void fake_cuda_refuse_pins(int error);
/* From now on, while it is set, no stream does anything. */
void fake_cuda_stall(int stall);

/* What is there now. */
typedef struct fake_cuda_live {
  int streams, events, registrations, allocations, retained, pushed;
  /* What a program must not do: register twice, unregister what is not, free memory that is copied to or
   * from, use a stream of another context... */
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
