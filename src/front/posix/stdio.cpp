// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Large writes of streams. libc's own calls inside it are not seen by a preload, so that here the stream's
// function is called for one piece after the other: buffers, offsets, errors and ends stay libc's business.
#include "front/posix/hook.hpp"
#include "front/posix/real.hpp"

using millrace::front::engine;
using millrace::front::Entrance;
namespace real = millrace::front::real;

namespace {

// `put(data, bytes)` is the real function for pieces of one byte; `whole()` the call as it came.
template <class Put, class Whole>
size_t put_stream(const void* data, size_t size, size_t count, FILE* stream, Put put, Whole whole) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(size, count, &bytes) || !engine().notices(bytes)) return whole();
  const Entrance entrance;
  const int fd = entrance ? fileno(stream) : -1;
  if (fd < 0) return whole();  // memory, a program's own functions, or closed
  if (!engine().divides(fd, bytes)) {
    const size_t done = whole();
    engine().wrote(fd, -1, done * size);
    return done;
  }
  flockfile(stream);
  const size_t done = engine().write_stream(fd, data, bytes, put);
  funlockfile(stream);
  return done == bytes ? count : done / size;
}

}  // namespace

MILLRACE_HOOK size_t fwrite(const void* data, size_t size, size_t count, FILE* stream) {
  return put_stream(
      data, size, count, stream,
      [=](const void* p, size_t n) { return real::fwrite(p, size_t{1}, n, stream); },
      [=] { return real::fwrite(data, size, count, stream); });
}

MILLRACE_HOOK size_t fwrite_unlocked(const void* data, size_t size, size_t count, FILE* stream) {
  return put_stream(
      data, size, count, stream,
      [=](const void* p, size_t n) { return real::fwrite_unlocked(p, size_t{1}, n, stream); },
      [=] { return real::fwrite_unlocked(data, size, count, stream); });
}
