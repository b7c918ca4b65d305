/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The C API of Millrace, for C and for languages that call C: files, asynchronous requests, functions on the
 * host, and memory of devices. Link with libmillrace_io (pkg-config millrace, or find_package(millrace)). C++
 * has millrace.hpp, and Fortran has millrace.f90. Programs that use MPI-IO or plain I/O do not need this
 * header: see `millrace run`.
 *
 * Conventions
 *
 * - A function that can fail returns 0 or a count, or a negative errno (-ENOSPC). After an error,
 *   millrace_explain() gives the reason.
 * - Handles are pointers to types without members, and are never dereferenced. -EBADF: the handle is not
 *   open. It was closed before, is of another kind, or is NULL where NULL is not allowed.
 * - All threads may call all functions at the same time. If a thread closes a handle during another thread's
 *   call, the handle lives until that call ends.
 * - Sizes, offsets and positions are bytes. Strings end with a zero. They are UTF-8, or any bytes that the
 *   file system takes.
 * - A device and an address together name memory. If the device is NULL, `address` is a pointer of this
 *   process. Such a pointer may also be to memory of a CUDA context that the program uses. For any other
 *   device, `address` comes from millrace_alloc(), or is that address plus an offset. Do not dereference it.
 *   -EFAULT: there is no such memory.
 * - A call goes on after a signal handler has interrupted it.
 * - After fork(), the child has only the parent's files. Other handles of the parent are -EBADF there, and
 *   memory of devices is -EFAULT. The child may open its own handles.
 * - A call that lacks memory returns -ENOMEM. A call that lacks descriptors, processes or threads returns
 *   -EMFILE, -ENFILE or -EAGAIN.
 * - The setting MILLRACE_TIMEOUT comes from the environment. The first call reads it.
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

/* Each addition raises the number by one. Existing functions and constants do not change. */
#define MILLRACE_API_VERSION 1

typedef struct millrace_file millrace_file;
typedef struct millrace_device millrace_device;
typedef struct millrace_request millrace_request;
typedef struct millrace_channel millrace_channel;
typedef struct millrace_queue millrace_queue;

/* ---- The library ---- */

/* The MILLRACE_API_VERSION of the loaded library. If it is lower than that of the header, functions may be
 * missing. */
MILLRACE_API int millrace_api_version(void);

/* The reason for the last failed call of this thread, in one line; "" if no call has failed. Never NULL. The
 * text is valid until the thread's next call of this library. */
MILLRACE_API const char* millrace_explain(void);

/* Numbers about the library's present state, for tests and diagnosis. */
typedef struct millrace_counts {
  uint64_t handles;            /* open handles */
  uint64_t staging_bytes;      /* registered buffers between host and devices; at most 64 MiB */
  uint64_t staging_peak_bytes; /* the most staging_bytes so far */
  uint64_t narrow;             /* parts of transfers without these buffers, because all were in use */
  uint64_t unpinned;           /* rings of buffers that could not be registered, and are slower */
  uint64_t retired;            /* rings lost to copies that did not end */
} millrace_counts;

/* Fills the first `bytes` bytes of *counts. Pass sizeof *counts. -EINVAL: `counts` is NULL, or `bytes` is
 * 0. */
MILLRACE_API int millrace_get_counts(millrace_counts* counts, uint64_t bytes);

/* Returns the XXH3-64 checksum (seed 0) of bytes in this process's memory. `data` may be NULL if `bytes` is
 * 0. */
MILLRACE_API uint64_t millrace_checksum(const void* data, uint64_t bytes);

/* ---- Files ---- */

/* Flags of millrace_open, joined by |. At least one of the first two is needed. */
#define MILLRACE_READ 1
#define MILLRACE_WRITE 2
#define MILLRACE_CREATE 4     /* create the file if it does not exist */
#define MILLRACE_TRUNCATE 8   /* cut the file to length 0 */
#define MILLRACE_EXCLUSIVE 16 /* with CREATE: -EEXIST if the file exists */
#define MILLRACE_APPEND 32    /* every write is at the end of the file, even with an offset */

/* Opens a file. `permissions` are for a file that is created, as in open(2), such as 0666; the umask applies.
 * The descriptor is closed on exec. -EINVAL: a flag is unknown, flags exclude each other, or an argument is
 * NULL. Other errors are those of open(2). */
MILLRACE_API int millrace_open(const char* path, int flags, unsigned permissions, millrace_file** file);

/* Makes a handle for a descriptor of the program: a file, a pipe, a socket. millrace_close() closes the
 * descriptor. -EBADF: the descriptor is not open. */
MILLRACE_API int millrace_adopt(int descriptor, millrace_file** file);

/* Returns the descriptor. The handle still owns it. */
MILLRACE_API int millrace_descriptor(millrace_file* file);

/* Closes the file. -EBUSY: the program has not waited for a request of the file; the file stays open. After
 * any other error the file is closed. -EIO, -ENOSPC, -EDQUOT: bytes that were written before may be
 * missing. */
MILLRACE_API int millrace_close(millrace_file* file);

/* Move bytes and return the number moved. It is smaller than `bytes` after an error or at the end of the
 * file. The next call then returns the error, because it meets the same cause. 0: `bytes` is 0, or the end of
 * the file. A read from a pipe or socket waits for at least one byte and returns the bytes that are there.
 * The functions without `_at` use the file's own position and move it. -EINVAL: offset and bytes together are
 * more than 2^63 - 1. Other errors are those of read(2) and write(2). -EIO for memory of a device: the driver
 * reports an error, the process with the memory has ended, or a copy made no progress for
 * MILLRACE_TIMEOUT. */
MILLRACE_API int64_t millrace_write(millrace_file* file, millrace_device* device, const void* from,
                                    uint64_t bytes);
MILLRACE_API int64_t millrace_write_at(millrace_file* file, millrace_device* device, const void* from,
                                       uint64_t bytes, uint64_t offset);
MILLRACE_API int64_t millrace_read(millrace_file* file, millrace_device* device, void* to, uint64_t bytes);
MILLRACE_API int64_t millrace_read_at(millrace_file* file, millrace_device* device, void* to, uint64_t bytes,
                                      uint64_t offset);

/* Moves the file's position and returns it. `offset` counts from the beginning of the file (MILLRACE_SET),
 * from the present position (MILLRACE_CURRENT) or from the end (MILLRACE_END). -ESPIPE: the file has no
 * position. -EINVAL: the position is before the beginning, or `whence` is unknown. */
#define MILLRACE_SET 0
#define MILLRACE_CURRENT 1
#define MILLRACE_END 2
MILLRACE_API int64_t millrace_seek(millrace_file* file, int64_t offset, int whence);

/* Returns the file's length. -ESPIPE: not a regular file. */
MILLRACE_API int64_t millrace_size(millrace_file* file);

/* Cuts the file, or extends it with zeros. -EINVAL: not a file, or not open for writing. -EFBIG: the file
 * system does not allow this size. */
MILLRACE_API int millrace_truncate(millrace_file* file, uint64_t bytes);

/* Syncs the file (fdatasync). If this returns 0, all bytes that were written before are on the disk,
 * including those of requests that the program has waited for. -EIO, -ENOSPC, -EDQUOT: bytes may be lost.
 * -EINVAL: a pipe or socket. To make the name of a new file durable, sync its folder. */
MILLRACE_API int millrace_sync(millrace_file* file);

/* ---- Devices: memory that the host reaches by copies ---- */

/* Opens a device. `which` is one of:
 *   "host"         memory of this process in place of a device's, for tests
 *   "process"      memory of a new process that only holds memory
 *   "process:PID"  all memory of a process that this one may trace; millrace_alloc() fails
 *   "cuda:N"       device N of the CUDA driver, with its primary context; "cuda" means device 0
 * -EINVAL: another string. -ENODEV: the driver has no such device. -ENOTSUP: there is no driver, or it is too
 * old. -ESRCH: no such process. -EPERM: this process may not trace it. */
MILLRACE_API int millrace_device_open(const char* which, millrace_device** device);

/* Closes the device and frees its memory that was not freed. This happens after the last request, queue and
 * call that use the device have ended. */
MILLRACE_API int millrace_device_close(millrace_device* device);

/* Allocates memory of the device, aligned for double or better. -EINVAL: `bytes` is 0. -ENOTSUP:
 * "process:PID". */
MILLRACE_API int millrace_alloc(millrace_device* device, uint64_t bytes, void** address);

/* Frees memory of the device. -EINVAL: `address` is not from millrace_alloc for this device, or was freed
 * before. */
MILLRACE_API int millrace_free(millrace_device* device, void* address);

/* Copy all bytes between a device (not NULL) and this process's memory. Errors are those of
 * millrace_write. */
MILLRACE_API int millrace_read_mem(millrace_device* device, void* host, const void* from, uint64_t bytes);
MILLRACE_API int millrace_write_mem(millrace_device* device, void* to, const void* host, uint64_t bytes);

/* ---- Asynchronous requests ---- */

/* Makes a request, which moves bytes between memory and a file while the program goes on. A request has one
 * transfer at a time and can be used again: init -> write -> query ... -> wait -> read -> wait -> fini.
 * Different requests have no order. -EAGAIN: there are 1024 requests. */
MILLRACE_API int millrace_request_init(millrace_request** request);

/* Begin a transfer. The file, the device and the memory must stay as they are until the program has waited
 * for the transfer. -EINVAL: the program has not waited for the last transfer, or offset and bytes are too
 * large. */
MILLRACE_API int millrace_request_write(millrace_request* request, millrace_file* file,
                                        millrace_device* device, const void* from, uint64_t bytes,
                                        uint64_t offset);
MILLRACE_API int millrace_request_read(millrace_request* request, millrace_file* file,
                                       millrace_device* device, void* to, uint64_t bytes, uint64_t offset);

/* Returns 1 if the transfer has ended, so that a wait returns at once; else 0. -EINVAL: the request has no
 * transfer. */
MILLRACE_API int millrace_request_query(millrace_request* request);

/* Waits for the transfer, and returns the result of millrace_write_at or millrace_read_at. `timeout_ms` < 0:
 * no bound. -ETIMEDOUT: the transfer goes on, and the program can wait again. -EINVAL: the request has no
 * transfer. */
MILLRACE_API int64_t millrace_request_wait(millrace_request* request, int64_t timeout_ms);

/* Ends the request. Drops a transfer that has not begun to move bytes, and waits for one that has.
 * -ETIMEDOUT: the wait takes longer than MILLRACE_TIMEOUT; the request stays. */
MILLRACE_API int millrace_request_fini(millrace_request* request);

/* ---- Functions on the host ---- */

/* Opens a channel, which runs functions of shared libraries on the host, one at a time. `where` is
 * MILLRACE_THREAD or MILLRACE_PROCESS. If a function crashes in a process, its call returns an error, and the
 * channel cannot be used any more. -EINVAL: `where` is unknown. -ENOENT: millrace-host is not at its place in
 * the installation. */
#define MILLRACE_THREAD 0  /* in a thread of this process */
#define MILLRACE_PROCESS 1 /* in a separate process, millrace-host */
MILLRACE_API int millrace_channel_open(int where, millrace_channel** channel);

/* Closes the channel and its libraries. Waits for a function in a thread. Kills a process that has not ended
 * after 2 s. */
MILLRACE_API int millrace_channel_close(millrace_channel* channel);

/* Loads a shared library as dlopen(3) does: a path with a "/", or a name for the search. -ENOENT: the library
 * cannot be loaded. -ESRCH, for all calls of a channel: its process has ended. */
MILLRACE_API int millrace_install(millrace_channel* channel, const char* path, uint64_t* library);

/* Finds a function of a library. -ENOENT: the library has no function of this name. -EINVAL: no such
 * library. */
MILLRACE_API int millrace_find(millrace_channel* channel, uint64_t library, const char* name,
                               uint64_t* symbol);

/* Unloads a library. Its functions cannot be called any more. -EINVAL: no such library. */
MILLRACE_API int millrace_uninstall(millrace_channel* channel, uint64_t library);

enum {
  MILLRACE_INTEGER = 0, /* `integer`: any integer type, an address */
  MILLRACE_REAL = 1,    /* `real`: double */
  MILLRACE_REAL32 = 2,  /* `real`: float */
  MILLRACE_IN = 3,      /* memory: the function gets a pointer to a copy of it */
  MILLRACE_OUT = 4,     /* the same, filled with zeros; the copy goes back after the function returns */
  MILLRACE_INOUT = 5,   /* the function gets a copy, which goes back after it returns */
  MILLRACE_CALL = 6     /* the function gets a millrace_call*, to copy more of the caller's memory (call.h) */
};

/* One argument. Members that its kind does not use are 0. The functions at the end of this header make
 * arguments. */
typedef struct millrace_argument {
  int32_t kind;
  int32_t reserved; /* 0 */
  uint64_t integer;
  double real;
  void* address; /* of the memory */
  uint64_t bytes;
  millrace_device* device; /* the device of the memory; NULL: this process */
} millrace_argument;

/* Calls a function and waits until it returns. -E2BIG: more than 6 arguments that are not real, more than 8
 * real ones, or more than 256 MiB of memory in one direction. `device` is the device of the addresses for
 * send_data and recv_data; NULL: this process. `returned` gets the result of an integer function, and may be
 * NULL. -EINVAL: the function does not exist, or an argument is wrong. -ESRCH: the channel's process has
 * ended. */
MILLRACE_API int millrace_invoke(millrace_channel* channel, uint64_t symbol,
                                 const millrace_argument* arguments, uint64_t count, millrace_device* device,
                                 uint64_t* returned);

/* ---- Queues: transfers and calls in order, while the program goes on ---- */

/* Opens a queue. A queue carries out its commands one after the other; different queues have no order. Each
 * command has a ticket, from 1 on, and the program waits once for each ticket. Until then, it must not change
 * the command's memory. `device` is the device of the transfers, and is not NULL. */
MILLRACE_API int millrace_queue_open(millrace_device* device, millrace_queue** queue);

/* Closes the queue. Drops commands that have not begun, and waits for the one that runs. To finish all
 * commands, call millrace_queue_sync() first. -ETIMEDOUT: the wait takes longer than MILLRACE_TIMEOUT; the
 * queue stays open. */
MILLRACE_API int millrace_queue_close(millrace_queue* queue);

/* Add a command that does the same as millrace_read_mem, millrace_write_mem or millrace_invoke. The call
 * copies `arguments`. The device of the function's millrace_call is the queue's. -EAGAIN: 4096 tickets have
 * not been waited for. */
MILLRACE_API int millrace_queue_read_mem(millrace_queue* queue, void* host, const void* from, uint64_t bytes,
                                         uint64_t* ticket);
MILLRACE_API int millrace_queue_write_mem(millrace_queue* queue, void* to, const void* host, uint64_t bytes,
                                          uint64_t* ticket);
MILLRACE_API int millrace_queue_call(millrace_queue* queue, millrace_channel* channel, uint64_t symbol,
                                     const millrace_argument* arguments, uint64_t count, uint64_t* ticket);

/* Returns 1 if the command is done, so that a wait returns at once; else 0. -EINVAL: the ticket does not
 * exist, or was waited for before. */
MILLRACE_API int millrace_queue_peek(millrace_queue* queue, uint64_t ticket);

/* Waits for a command and returns 0 or its error. `returned` gets the result of a function, and 0 for a
 * transfer; it may be NULL. `timeout_ms` < 0: no bound. -ETIMEDOUT: the command goes on, and the program can
 * wait again. -EINVAL: as for millrace_queue_peek. */
MILLRACE_API int millrace_queue_wait(millrace_queue* queue, uint64_t ticket, int64_t timeout_ms,
                                     uint64_t* returned);

/* Waits until all commands are done. The program still has to wait for each ticket. -ETIMEDOUT: some commands
 * go on. */
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
/* `kind` is MILLRACE_IN, MILLRACE_OUT or MILLRACE_INOUT. */
static inline millrace_argument millrace_memory(int32_t kind, millrace_device* device, void* address,
                                                uint64_t bytes) {
  millrace_argument made = millrace_argument_of(kind);
  made.address = address;
  made.bytes = bytes;
  made.device = device;
  return made;
}

#endif
