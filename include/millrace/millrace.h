/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Files, asynchronous requests, functions on the host, and memory of devices, for C and all languages that
 * call it: link libmillrace_io (pkg-config millrace, or find_package(millrace)). C++ has millrace.hpp,
 * Fortran millrace.f90. MPI-IO and plain programs need none of this: see `millrace run`.
 *
 * Conventions
 *
 * - What can fail returns 0 or a count, or a negative errno (-ENOSPC). Then millrace_explain() says more.
 * - Handles are numbers in the form of pointers to types that have no members: never dereferenced. One that
 * is not open (closed before, of another kind, NULL where it must not be) is -EBADF.
 * - All functions may be called by all threads at once. A handle that is closed while another thread's call
 * uses it lives until that call ends.
 * - Sizes, offsets and positions are bytes. Strings are UTF-8 or what the file system takes, and end with a
 * zero.
 * - Memory is given by a device and an address. Device NULL is this process's own memory, where `address` is
 * a pointer; memory of a CUDA context that the program uses is recognised there too. Of any other device it
 * is what millrace_alloc() gave, or a place behind it: counting up works, dereferencing does not. Memory that
 * is not there is -EFAULT.
 * - Signals: a call that a handler interrupts goes on.
 * - After fork() the child has the parent's files and nothing else of it: other handles are -EBADF there,
 * memory of devices -EFAULT. It may open its own.
 * - Out of memory is -ENOMEM wherever memory is needed; -EMFILE, -ENFILE and -EAGAIN likewise for
 * descriptors, processes and threads.
 * - Settings come from the environment (MILLRACE_STAGING_BYTES, MILLRACE_DEVICE_BUFFERS, MILLRACE_TIMEOUT,
 *   MILLRACE_POSIX_WRITEBACK), read at the first call.
 */
#ifndef MILLRACE_H
#define MILLRACE_H

#include <stddef.h> /* NOLINT(modernize-deprecated-headers): C */
#include <stdint.h> /* NOLINT(modernize-deprecated-headers): C */

#include "call.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MILLRACE_API __attribute__((visibility("default")))
#else
#define MILLRACE_API
#endif

/* Grows by one when something is added here. What is here stays as it is. */
#define MILLRACE_API_VERSION 1

typedef struct millrace_file millrace_file;
typedef struct millrace_device millrace_device;
typedef struct millrace_request millrace_request;
typedef struct millrace_channel millrace_channel;
typedef struct millrace_queue millrace_queue;

/* ---- The library ---- */

/* MILLRACE_API_VERSION of the library that is loaded: at least that of the header, or calls may be missing.
 */
MILLRACE_API int millrace_api_version(void);

/* Why this thread's last call that failed did so, one line; "" before the first. Valid until the thread's
 * next call of this library. Never NULL. */
MILLRACE_API const char* millrace_explain(void);

/* What there is now, for tests and for the curious. */
typedef struct millrace_counts {
  uint64_t handles;       /* open */
  uint64_t staging_bytes; /* registered buffers between host and devices, at most MILLRACE_STAGING_BYTES */
  uint64_t staging_peak_bytes; /* most of it so far */
  uint64_t narrow;             /* transfers that went without, because all was in use */
  uint64_t unpinned;           /* rings of buffers that could not be registered: slower */
  uint64_t retired;            /* rings lost to copies that did not end */
} millrace_counts;

/* Fills the first `bytes` of *counts: give sizeof *counts. -EINVAL: `counts` is NULL, or `bytes` 0. */
MILLRACE_API int millrace_get_counts(millrace_counts* counts, uint64_t bytes);

/* XXH3-64 (seed 0) of bytes in this process's memory. `data` may be NULL where `bytes` is 0. */
MILLRACE_API uint64_t millrace_checksum(const void* data, uint64_t bytes);

/* ---- Files ---- */

/* For millrace_open, joined by |; at least one of the first two. */
#define MILLRACE_READ 1
#define MILLRACE_WRITE 2
#define MILLRACE_CREATE 4     /* if it is not there */
#define MILLRACE_TRUNCATE 8   /* to length 0 */
#define MILLRACE_EXCLUSIVE 16 /* with CREATE: -EEXIST if it is there */
#define MILLRACE_APPEND 32    /* every write goes to the end, also those with an offset */

/* Opens a file. `permissions`, of one that is created, are those of open(2), such as 0666; the umask applies.
 * The descriptor is closed on exec. -EINVAL: flags that are unknown or exclude each other, or a NULL; else
 * errors of open(2). */
MILLRACE_API int millrace_open(const char* path, int flags, unsigned permissions, millrace_file** file);

/* A handle for a descriptor that the program has: a file, a pipe, a socket. millrace_close() closes it.
 * -EBADF: it is no open descriptor. */
MILLRACE_API int millrace_adopt(int descriptor, millrace_file** file);

/* The descriptor, which stays the handle's. */
MILLRACE_API int millrace_descriptor(millrace_file* file);

/* -EBUSY: a request of the file has not been waited for; it stays open. After any other error (-EIO, -ENOSPC,
 * -EDQUOT: bytes that were written before may be missing) it is closed. */
MILLRACE_API int millrace_close(millrace_file* file);

/* All bytes, or as many as were moved before an error or the end of the file: then fewer, and the error comes
 * with the next call, which meets the same cause. From pipes and sockets a read takes what is there, at least
 * one byte. 0: nothing was asked for, or the end of the file. Without `_at` at the file's own position, which
 * moves. Offset and bytes together are at most 2^63 - 1, else -EINVAL. Errors are those of read(2) and
 * write(2); of devices also -EIO: the driver says no, the process that has the memory is gone, or a copy made
 * no progress for MILLRACE_TIMEOUT. */
MILLRACE_API int64_t millrace_write(millrace_file* file, millrace_device* device, const void* from,
                                    uint64_t bytes);
MILLRACE_API int64_t millrace_write_at(millrace_file* file, millrace_device* device, const void* from,
                                       uint64_t bytes, uint64_t offset);
MILLRACE_API int64_t millrace_read(millrace_file* file, millrace_device* device, void* to, uint64_t bytes);
MILLRACE_API int64_t millrace_read_at(millrace_file* file, millrace_device* device, void* to, uint64_t bytes,
                                      uint64_t offset);

/* Moves the file's position to `offset` from its beginning (MILLRACE_SET), from where it is
 * (MILLRACE_CURRENT) or from its end (MILLRACE_END), and returns it. -ESPIPE: it has none. -EINVAL: before
 * the beginning, or no such `whence`. */
#define MILLRACE_SET 0
#define MILLRACE_CURRENT 1
#define MILLRACE_END 2
MILLRACE_API int64_t millrace_seek(millrace_file* file, int64_t offset, int whence);

/* The file's length. */
MILLRACE_API int64_t millrace_size(millrace_file* file);

/* Cuts or extends (by zeros) the file. -EINVAL: not a file, or not open for writing. -EFBIG: more than its
 * file system allows. */
MILLRACE_API int millrace_truncate(millrace_file* file, uint64_t bytes);

/* What was written is on the disk when this returns 0 (fdatasync). -EIO, -ENOSPC, -EDQUOT: it is not, and may
 * be lost. -EINVAL: a pipe or socket. Requests count that have been waited for. A new file's name is its
 * folder's business. */
MILLRACE_API int millrace_sync(millrace_file* file);

/* ---- Devices: memory that the host reaches by copies ---- */

/* `which`:
 *   "host"         memory of this process, as if it were a device's: to try things
 *   "process"      memory of a process that is started for that
 *   "process:PID"  all memory of a process that this one may trace; nothing can be allocated
 *   "cuda:N"       device N of the CUDA driver by its primary context; "cuda" is the first
 * -EINVAL: none of these. -ENODEV: the driver has no such device. -ENOTSUP: no driver, or one that is too
 * old. -ESRCH: no such process. -EPERM: not to be traced. */
MILLRACE_API int millrace_device_open(const char* which, millrace_device** device);

/* What was allocated and not freed goes with it, when the last request, queue and call is done that uses it.
 */
MILLRACE_API int millrace_device_close(millrace_device* device);

/* Memory of the device, at least aligned for double. -EINVAL: `bytes` is 0. -ENOTSUP: "process:PID". */
MILLRACE_API int millrace_alloc(millrace_device* device, uint64_t bytes, void** address);

/* -EINVAL: `address` is not one that millrace_alloc gave for this device, or was freed before. */
MILLRACE_API int millrace_free(millrace_device* device, void* address);

/* Copies all bytes between a device (not NULL) and this process's memory. Errors as of millrace_write. */
MILLRACE_API int millrace_read_mem(millrace_device* device, void* host, const void* from, uint64_t bytes);
MILLRACE_API int millrace_write_mem(millrace_device* device, void* to, const void* host, uint64_t bytes);

/* ---- Asynchronous requests ---- */

/* A request moves bytes between memory and a file while the program goes on; one transfer at a time, as often
 * as wanted: init -> write -> query ... -> wait -> read -> wait -> fini. Different requests are in no order.
 * -EAGAIN: more than 1024 are there. */
MILLRACE_API int millrace_request_init(millrace_request** request);

/* Begins a transfer. File, device and memory stay as they are until it has been waited for. -EINVAL: the last
 * one has not been waited for, or an offset as above. */
MILLRACE_API int millrace_request_write(millrace_request* request, millrace_file* file,
                                        millrace_device* device, const void* from, uint64_t bytes,
                                        uint64_t offset);
MILLRACE_API int millrace_request_read(millrace_request* request, millrace_file* file,
                                       millrace_device* device, void* to, uint64_t bytes, uint64_t offset);

/* 1: it is over, and waiting for it takes no time. 0: it is not. -EINVAL: nothing was begun. */
MILLRACE_API int millrace_request_query(millrace_request* request);

/* What millrace_write_at or millrace_read_at would have returned. `timeout_ms` < 0: as long as the file
 * system takes. -ETIMEDOUT: it goes on, and can be waited for again. -EINVAL: nothing was begun. */
MILLRACE_API int64_t millrace_request_wait(millrace_request* request, int64_t timeout_ms);

/* Ends the request. A transfer that has not begun to move is dropped; one that moves is waited for.
 * -ETIMEDOUT: longer than MILLRACE_TIMEOUT; then it stays. */
MILLRACE_API int millrace_request_fini(millrace_request* request);

/* ---- Functions on the host ---- */

/* A channel runs functions of shared libraries, one at a time, where `where` says. A function that crashes in
 * a process is an error of its call, and the channel is no longer of use. -EINVAL: no such place. -ENOENT:
 * millrace-host is not where it was installed. */
#define MILLRACE_THREAD 0  /* of this process */
#define MILLRACE_PROCESS 1 /* of its own: millrace-host */
MILLRACE_API int millrace_channel_open(int where, millrace_channel** channel);

/* Waits for a function that runs in a thread; a process gets 2 s and is killed. Its libraries are closed. */
MILLRACE_API int millrace_channel_close(millrace_channel* channel);

/* Loads a shared library as dlopen(3) does: a path with a "/", or a name that is searched. -ENOENT: it cannot
 * be loaded. -ESRCH, in all calls of a channel: its process has gone. */
MILLRACE_API int millrace_install(millrace_channel* channel, const char* path, uint64_t* library);

/* A function of it. -ENOENT: it has none of this name. -EINVAL: no such library. */
MILLRACE_API int millrace_find(millrace_channel* channel, uint64_t library, const char* name,
                               uint64_t* symbol);

/* Its functions can no longer be called. -EINVAL: no such library. */
MILLRACE_API int millrace_uninstall(millrace_channel* channel, uint64_t library);

enum {
  MILLRACE_INTEGER = 0, /* `integer`: any integer type, an address */
  MILLRACE_REAL = 1,    /* `real`: double */
  MILLRACE_REAL32 = 2,  /* `real`: float */
  MILLRACE_IN = 3,      /* memory: the function gets a pointer to a copy of it */
  MILLRACE_OUT = 4,     /* ... which is copied back when it has returned; before that its content is 0 */
  MILLRACE_INOUT = 5,   /* ... both */
  MILLRACE_CALL =
      6 /* the function gets its millrace_call*: more of the caller's memory, by pieces (call.h) */
};

/* One argument; members that its kind does not name are 0. The functions below make them. */
typedef struct millrace_argument {
  int32_t kind;
  int32_t reserved; /* 0 */
  uint64_t integer;
  double real;
  void* address; /* of memory */
  uint64_t bytes;
  millrace_device* device; /* whose memory; NULL: this process's */
} millrace_argument;

/* Calls a function and waits until it returns. At most 6 arguments that are not real and 8 that are (-E2BIG);
 * 256 MiB of memory each way (-E2BIG). `device`: whose addresses send_data and recv_data take; NULL: this
 * process's. `returned` gets what an integer function returns; may be NULL. -EINVAL: no such function, or
 * argument. -ESRCH: the process has ended. */
MILLRACE_API int millrace_invoke(millrace_channel* channel, uint64_t symbol,
                                 const millrace_argument* arguments, uint64_t count, millrace_device* device,
                                 uint64_t* returned);

/* ---- Queues: transfers and calls in order, while the program goes on ---- */

/* Commands of a queue are done one after the other; each has a ticket, from 1 on, which is waited for once.
 * Memory stays as it is until then. Those of different queues are in no order. `device`: whose memory the
 * transfers mean; not NULL. */
MILLRACE_API int millrace_queue_open(millrace_device* device, millrace_queue** queue);

/* Drops commands that have not begun (millrace_queue_sync() first, to be sure), and waits for the one that
 * has. -ETIMEDOUT: that takes longer than MILLRACE_TIMEOUT; then the queue stays. */
MILLRACE_API int millrace_queue_close(millrace_queue* queue);

/* As millrace_read_mem, millrace_write_mem and millrace_invoke (whose `arguments` are copied; the device of
 * the function's millrace_call is the queue's). -EAGAIN: 4096 tickets that nobody has waited for. */
MILLRACE_API int millrace_queue_read_mem(millrace_queue* queue, void* host, const void* from, uint64_t bytes,
                                         uint64_t* ticket);
MILLRACE_API int millrace_queue_write_mem(millrace_queue* queue, void* to, const void* host, uint64_t bytes,
                                          uint64_t* ticket);
MILLRACE_API int millrace_queue_call(millrace_queue* queue, millrace_channel* channel, uint64_t symbol,
                                     const millrace_argument* arguments, uint64_t count, uint64_t* ticket);

/* 1: done, and waiting for it takes no time. 0: not yet. -EINVAL: no such ticket, or waited for before. */
MILLRACE_API int millrace_queue_peek(millrace_queue* queue, uint64_t ticket);

/* The command's outcome: 0, or its error. `returned` gets what a function returned, and 0 of transfers; may
 * be NULL. `timeout_ms` < 0: as long as it takes. -ETIMEDOUT: it goes on, and can be waited for again.
 * -EINVAL as above. */
MILLRACE_API int millrace_queue_wait(millrace_queue* queue, uint64_t ticket, int64_t timeout_ms,
                                     uint64_t* returned);

/* Waits until all commands are done; their outcomes are still to be waited for. -ETIMEDOUT: they go on. */
MILLRACE_API int millrace_queue_sync(millrace_queue* queue, int64_t timeout_ms);

#ifdef __cplusplus
}
#endif

/* ---- Arguments ---- */

static inline millrace_argument millrace_argument_of(int32_t kind) {
  millrace_argument made = {0, 0, 0, 0.0, NULL, 0, NULL};
  made.kind = kind;
  return made;
}
static inline millrace_argument millrace_integer(uint64_t value) {
  millrace_argument made = millrace_argument_of(MILLRACE_INTEGER);
  made.integer = value;
  return made;
}
static inline millrace_argument millrace_real(double value) {
  millrace_argument made = millrace_argument_of(MILLRACE_REAL);
  made.real = value;
  return made;
}
static inline millrace_argument millrace_real32(float value) {
  millrace_argument made = millrace_argument_of(MILLRACE_REAL32);
  made.real = (double)value;
  return made;
}
/* `kind`: MILLRACE_IN, MILLRACE_OUT or MILLRACE_INOUT. */
static inline millrace_argument millrace_memory(int32_t kind, millrace_device* device, void* address,
                                                uint64_t bytes) {
  millrace_argument made = millrace_argument_of(kind);
  made.address = address;
  made.bytes = bytes;
  made.device = device;
  return made;
}

#endif
