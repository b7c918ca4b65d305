/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The argument by which a function of a channel (millrace_invoke) reaches the memory of its caller. A
 * library of such functions needs no other header.
 */
#ifndef MILLRACE_CALL_H
#define MILLRACE_CALL_H

#include <stddef.h> /* NOLINT(modernize-deprecated-headers): C */
#include <stdint.h> /* NOLINT(modernize-deprecated-headers): C */

/* Both functions copy all bytes and return 0, or return -1 and set errno. An address is of the device that
 * the caller has named, or of the caller's process. The object is valid until the function returns. */
typedef struct millrace_call millrace_call;
struct millrace_call {
  int (*send_data)(millrace_call* call, uint64_t to, const void* from, size_t bytes);
  int (*recv_data)(millrace_call* call, void* into, uint64_t from, size_t bytes);
};

#endif
