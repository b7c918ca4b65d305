// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// Hooks of large writes to streams. A preload does not see libc's calls inside libc. So the hook calls libc's
// function for one piece after the other. libc still takes care of buffers, offsets, errors and the end of
// the file.
#include <stdio_ext.h>

#include <cerrno>
#include <cstring>

#include "front/posix/device.hpp"
#include "front/posix/hook.hpp"
#include "front/posix/real.hpp"

namespace device = millrace::front::device;
using millrace::front::ask_for;
using millrace::front::ask_mpi;
using millrace::front::drop;
using millrace::front::engine;
using millrace::front::look_for_copy;
using millrace::front::OutermostHook;
using millrace::front::release;
using millrace::front::settle;
using millrace::front::settle_named;
using millrace::front::staged_fread;
using millrace::front::staged_fwrite;
namespace real = millrace::front::real;

namespace {

// The stream's descriptor, if it has one; keeps errno.
int descriptor_of(FILE* stream) {
  const int error = errno;
  const int fd = fileno(stream);
  errno = error;
  return fd;
}

bool behind_has(FILE* stream) { return engine().behind().takes(descriptor_of(stream)); }

// libc itself writes small pieces at once. In file order, they do not overlap the waiting bytes of
// write-behind. Before the stream moves to another place, the hook writes the waiting bytes.
void settle_stream(FILE* stream) {
  if (engine().behind().any() || ask_mpi.load(std::memory_order_relaxed) != nullptr)
    settle(descriptor_of(stream));
}

// Only streams that are open for writing alone have write-behind, because a preload does not see libc's own
// reads.
template <class Real>
FILE* opened(const char* path, const char* mode, Real real) {
  // Before the file loses its bytes, and libc looks for its end.
  if (mode[0] != 'r') settle_named(AT_FDCWD, path, 0, mode[0] == 'w');
  device::look();
  FILE* stream = real();
  if (stream == nullptr) return nullptr;
  const bool both = strchr(mode, '+') != nullptr;
  const int fd = descriptor_of(stream);
  engine().opened(fd, mode[0] == 'w' && !both ? O_WRONLY : O_RDONLY);
  look_for_copy(fd, mode[0] == 'r' && !both ? O_RDONLY : O_RDWR);  // libc has not read anything yet
  return stream;
}

template <class Real>
FILE* reopened(const char* path, const char* mode, FILE* stream, Real real) {
  if (engine().behind().any() || engine().reports()) drop(descriptor_of(stream));
  return opened(path, mode, real);
}

// The number of bytes of a write that libc would keep in the stream's buffer. libc fills the buffer, and then
// writes whole buffers.
size_t kept_of(FILE* stream, int fd, size_t bytes) {
  size_t buffer = __fbufsize(stream);
  struct stat about;
  if (buffer == 0 && real::fstat(fd, &about) == 0) {
    // The stream has no buffer yet. This is the size that libc will choose.
    buffer =
        about.st_blksize > 0 && about.st_blksize < BUFSIZ ? static_cast<size_t>(about.st_blksize) : BUFSIZ;
  }
  const size_t pending = __fpending(stream);
  const size_t room = pending > 0 && pending < buffer ? buffer - pending : 0;
  if (bytes <= room) return bytes;
  return buffer < 128 ? 0 : (bytes - room) % buffer;
}

// Writes the stream's buffer. fflush makes libc forget the stream's offset, so this sets the offset again, as
// after a write of libc's own.
bool flush(FILE* stream) {
  const off64_t known = stream->_offset;
  const auto pending = static_cast<off64_t>(__fpending(stream));
  if (fflush(stream) != 0) return false;
  if (known >= 0) stream->_offset = known + pending;
  return true;
}

// A write to a stream whose file has write-behind. Writes the stream's buffer first, then these bytes. Then
// the stream gets the file's new offset, as POSIX requires for a change between a stream and its descriptor.
// False: libc has to write.
bool put_behind(const void* data, size_t bytes, FILE* stream, size_t& done) {
  const int fd = fileno(stream);
  const size_t kept = kept_of(stream, fd, bytes);
  const int error = errno;
  if (kept == bytes || !flush(stream)) return false;
  const auto written = engine().write_behind(fd, data, bytes - kept, -1);
  if (!written) return false;
  if (*written < 0) {
    stream->_flags |= _IO_ERR_SEEN;
    done = 0;
    return true;
  }
  // If libc remembers an offset, updates it, as after a write of its own. fseeko would make libc remember
  // one, and a child process that shares the offset could move it unseen.
  if (stream->_offset >= 0) stream->_offset += *written;
  errno = error;
  done = bytes - kept +
         real::fwrite_unlocked(static_cast<const char*>(data) + bytes - kept, size_t{1}, kept, stream);
  return true;
}

// `put(data, bytes)` calls the real function for items of one byte. `whole()` makes the program's own call.
template <class Put, class Whole>
size_t put_host(const void* data, size_t size, size_t count, FILE* stream, Put put, Whole whole) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(size, count, &bytes) || !engine().notices(bytes)) return whole();
  size_t done_behind = 0;
  if (engine().behind().any() && behind_has(stream)) {
    flockfile(stream);
    const bool taken = put_behind(data, bytes, stream, done_behind);
    funlockfile(stream);
    if (taken) return done_behind == bytes ? count : done_behind / size;
  }
  const OutermostHook entrance;
  const int fd = entrance ? fileno(stream) : -1;
  if (fd < 0) return whole();  // a stream in memory, one with the program's own functions, or a closed one
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

template <class Put, class Whole>
size_t put_stream(const void* data, size_t size, size_t count, FILE* stream, Put put, Whole whole) {
  size_t bytes = 0;
  if (!__builtin_mul_overflow(size, count, &bytes) && bytes > 0) {
    if (const auto found = device::find(data, bytes))
      return staged_fwrite(found, data, size, count, stream, [](const void* p, size_t n, FILE* to) {
        const auto real_put = [=](const void* from, size_t some) {
          return real::fwrite(from, size_t{1}, some, to);
        };
        return put_host(p, 1, n, to, real_put, [=] { return real::fwrite(p, size_t{1}, n, to); });
      });
  }
  return put_host(data, size, count, stream, put, whole);
}

// libc reads the bytes into host memory, because it cannot touch device memory.
template <class Real>
size_t got_stream(void* data, size_t size, size_t count, FILE* stream, Real real) {
  if (ask_mpi.load(std::memory_order_relaxed) != nullptr) ask_for(descriptor_of(stream));
  size_t bytes = 0;
  if (!__builtin_mul_overflow(size, count, &bytes) && bytes > 0) {
    if (const auto found = device::find(data, bytes))
      return staged_fread(found, data, size, count, stream,
                          [](void* p, size_t n, FILE* from) { return real::fread(p, size_t{1}, n, from); });
  }
  return real();
}

}  // namespace

MILLRACE_HOOK size_t fread(void* data, size_t size, size_t count, FILE* stream) {
  return got_stream(data, size, count, stream, [=] { return real::fread(data, size, count, stream); });
}

MILLRACE_HOOK size_t fread_unlocked(void* data, size_t size, size_t count, FILE* stream) {
  return got_stream(data, size, count, stream,
                    [=] { return real::fread_unlocked(data, size, count, stream); });
}

MILLRACE_HOOK size_t __fread_chk(void* data, size_t room, size_t size, size_t count, FILE* stream) {
  return got_stream(data, size, count, stream,
                    [=] { return real::__fread_chk(data, room, size, count, stream); });
}

MILLRACE_HOOK size_t __fread_unlocked_chk(void* data, size_t room, size_t size, size_t count, FILE* stream) {
  return got_stream(data, size, count, stream,
                    [=] { return real::__fread_unlocked_chk(data, room, size, count, stream); });
}

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

MILLRACE_HOOK FILE* fopen(const char* path, const char* mode) {
  return opened(path, mode, [=] { return real::fopen(path, mode); });
}

MILLRACE_HOOK FILE* fopen64(const char* path, const char* mode) {
  return opened(path, mode, [=] { return real::fopen64(path, mode); });
}

MILLRACE_HOOK FILE* freopen(const char* path, const char* mode, FILE* stream) {
  return reopened(path, mode, stream, [=] { return real::freopen(path, mode, stream); });
}

MILLRACE_HOOK FILE* freopen64(const char* path, const char* mode, FILE* stream) {
  return reopened(path, mode, stream, [=] { return real::freopen64(path, mode, stream); });
}

MILLRACE_HOOK FILE* fdopen(int fd, const char* mode) noexcept {
  release(fd);
  device::look();
  return real::fdopen(fd, mode);
}

MILLRACE_HOOK int fclose(FILE* stream) {
  const int fd = engine().behind().any() || engine().reports() ? descriptor_of(stream) : -1;
  const int late = engine().behind().settle_to_tell(fd);
  drop(fd);
  const int result = real::fclose(stream);
  if (result != 0 || late == 0) return result;
  errno = late;
  return EOF;
}

MILLRACE_HOOK int fseek(FILE* stream, long offset, int whence) {
  settle_stream(stream);
  return real::fseek(stream, offset, whence);
}

MILLRACE_HOOK int fseeko(FILE* stream, off_t offset, int whence) {
  settle_stream(stream);
  return real::fseeko(stream, offset, whence);
}

MILLRACE_HOOK int fseeko64(FILE* stream, off64_t offset, int whence) {
  settle_stream(stream);
  return real::fseeko64(stream, offset, whence);
}

MILLRACE_HOOK int fsetpos(FILE* stream, const fpos_t* position) {
  settle_stream(stream);
  return real::fsetpos(stream, position);
}

MILLRACE_HOOK int fsetpos64(FILE* stream, const fpos64_t* position) {
  settle_stream(stream);
  return real::fsetpos64(stream, position);
}

MILLRACE_HOOK void rewind(FILE* stream) {
  settle_stream(stream);
  real::rewind(stream);
}
