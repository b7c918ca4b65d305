/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a rank does with its own file, in C and in Fortran. Values are 8 bytes wide, `count` is of them. 0 if
 * it worked. Plain calls of each language's own library, so that a preload sees what it sees in any program.
 */
#pragma once

#ifdef __cplusplus
#include <cstdint>
extern "C" {
#else
#include <stdint.h>
#endif

struct fpp_kernel {
  int (*open)(const char* path, int writes, uint64_t buffer_bytes);
  int (*write)(const double* values, uint64_t count); /* with a flush */
  int (*read)(double* values, uint64_t count);
  int (*close)(void); /* NOLINT(modernize-redundant-void-arg): C needs it */
};

extern const struct fpp_kernel fpp_c;

/* In fpp_f.f90. A buffer's size is the runtime's: GFORTRAN_UNFORMATTED_BUFFER_SIZE, before the program
 * starts. */
int fpp_f_open(const char* path, int writes, uint64_t buffer_bytes);
int fpp_f_write(const double* values, uint64_t count);
int fpp_f_read(double* values, uint64_t count);
int fpp_f_close(void);

#ifdef __cplusplus
}
#endif
