/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a function gets that a channel runs (millrace_invoke), if its caller passes it: the way to the
 * caller's memory. This is all that a library of such functions needs to include.
 */
#ifndef MILLRACE_CALL_H
#define MILLRACE_CALL_H

#include <stddef.h> /* NOLINT(modernize-deprecated-headers): C */
#include <stdint.h> /* NOLINT(modernize-deprecated-headers): C */

/* Both return 0, or -1 with errno set; all bytes, or an error. Valid until the function returns. Addresses
 * are of the device that the caller has named, or of the caller's process. */
typedef struct millrace_call millrace_call;
struct millrace_call {
  int (*send_data)(millrace_call* call, uint64_t to, const void* from, size_t bytes);
  int (*recv_data)(millrace_call* call, void* into, uint64_t from, size_t bytes);
};

#endif
