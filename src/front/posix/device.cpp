// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/posix/device.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "front/posix/real.hpp"

namespace millrace::front {
namespace {

using staging::HostEnd;

ssize_t outcome(ssize_t result) { return result < 0 ? -errno : result; }

// Converts an outcome into the return value of the program's call.
ssize_t returned(ssize_t moved) {
  if (moved >= 0) return moved;
  errno = static_cast<int>(-moved);
  return -1;
}

// A descriptor and the position of the next transfer: `at`, or the descriptor's own offset if `at` is
// negative.
struct Positioned {
  int fd;
  off_t at;

  void passed(ssize_t bytes) {
    if (at >= 0 && bytes > 0) at += bytes;
  }
  static ssize_t write(void* self, const void* from, size_t bytes) {
    auto& file = *static_cast<Positioned*>(self);
    const ssize_t done = outcome(write_host(file.fd, from, bytes, file.at));
    file.passed(done);
    return done;
  }
  static ssize_t read(void* self, void* into, size_t bytes) {
    auto& file = *static_cast<Positioned*>(self);
    const ssize_t done = outcome(read_host(file.fd, into, bytes, file.at));
    file.passed(done);
    return done;
  }
  static bool ready(void* self) {
    const auto& file = *static_cast<Positioned*>(self);
    if (file.at >= 0) return true;  // pipes have no positions
    pollfd one{file.fd, POLLIN, 0};
    return ::poll(&one, 1, 0) > 0;
  }
  static void unread(void* self, std::uint64_t bytes) {
    auto& file = *static_cast<Positioned*>(self);
    if (file.at >= 0) {
      file.at -= static_cast<off_t>(bytes);
    } else {
      // Fails on a pipe, where the bytes are lost.
      (void)real::lseek(file.fd, -static_cast<off_t>(bytes), SEEK_CUR);
    }
  }
  HostEnd end() { return {this, write, read, ready, unread}; }
};

ssize_t move(ReadOrWrite way, Positioned& file, const device::Found& found, void* data, size_t bytes) {
  const device::Inside inside;
  const HostEnd end = file.end();
  return way == ReadOrWrite::write ? found.entry->write(found.device, data, bytes, &end)
                                   : found.entry->read(found.device, &end, data, bytes);
}

ssize_t staged(ReadOrWrite way, int fd, void* data, size_t bytes, off_t at) {
  const device::Found found = device::find_refused(data);
  errno = EFAULT;
  if (!found) return -1;
  Positioned file{fd, at};
  return returned(move(way, file, found, data, bytes));
}

// Moves one piece of host or device memory. Returns the bytes moved, or -errno.
ssize_t move_piece(ReadOrWrite way, Positioned& file, const iovec& piece) {
  if (const device::Found found = device::find_refused(piece.iov_base))
    return move(way, file, found, piece.iov_base, piece.iov_len);
  return way == ReadOrWrite::write ? Positioned::write(&file, piece.iov_base, piece.iov_len)
                                   : Positioned::read(&file, piece.iov_base, piece.iov_len);
}

}  // namespace

ssize_t staged_write(int fd, const void* data, size_t bytes, off_t at) {
  return staged(ReadOrWrite::write, fd, const_cast<void*>(data), bytes, at);
}

ssize_t staged_read(int fd, void* data, size_t bytes, off_t at) {
  return staged(ReadOrWrite::read, fd, data, bytes, at);
}

ssize_t staged_vector(ReadOrWrite way, int fd, const iovec* pieces, int count, off_t at, ssize_t done) {
  const ssize_t before = std::max<ssize_t>(done, 0);
  int next = 0;
  for (ssize_t left = before; next < count; ++next) {
    if (left == 0 && pieces[next].iov_len > 0) break;
    left -= static_cast<ssize_t>(pieces[next].iov_len);
  }
  if (done != 0 && (next == count || !device::find_refused(pieces[next].iov_base))) {
    if (done < 0) errno = EFAULT;
    return done;
  }
  Positioned file{fd, at < 0 ? at : at + before};
  ssize_t sum = before;
  for (int i = next; i < count; ++i) {
    if (pieces[i].iov_len == 0) continue;
    if (way == ReadOrWrite::read && sum > 0 && !Positioned::ready(&file)) break;
    const ssize_t moved = move_piece(way, file, pieces[i]);
    if (moved < 0 && sum == 0) return returned(moved);
    if (moved > 0) sum += moved;
    if (moved < static_cast<ssize_t>(pieces[i].iov_len)) break;
  }
  return sum;
}

namespace {

struct StdioFile {
  FILE* stream;
  PutSome put;
  GetSome get;

  static ssize_t write(void* self, const void* from, size_t bytes) {
    const auto& to = *static_cast<StdioFile*>(self);
    return static_cast<ssize_t>(to.put(from, bytes, to.stream));
  }
  static ssize_t read(void* self, void* into, size_t bytes) {
    const auto& from = *static_cast<StdioFile*>(self);
    return static_cast<ssize_t>(from.get(into, bytes, from.stream));
  }
  static bool ready(void*) { return true; }  // fread waits for all bytes
  static void unread(void* self, std::uint64_t bytes) {
    (void)real::fseeko(static_cast<StdioFile*>(self)->stream, -static_cast<off_t>(bytes), SEEK_CUR);
  }
};

size_t staged_items(ReadOrWrite way, const device::Found& found, void* data, size_t size, size_t count,
                    StdioFile& one) {
  const device::Inside inside;
  const HostEnd end{&one, StdioFile::write, StdioFile::read, StdioFile::ready, StdioFile::unread};
  const size_t bytes = size * count;
  size_t done = 0;
  flockfile(one.stream);
  while (done < bytes) {
    auto* at = static_cast<char*>(data) + done;
    const ssize_t moved = way == ReadOrWrite::write ? found.entry->write(found.device, at, bytes - done, &end)
                                                    : found.entry->read(found.device, &end, at, bytes - done);
    if (moved < 0) {
      // libc does not see an error of the device, so the hook sets the stream's error flag.
      one.stream->_flags |= _IO_ERR_SEEN;
      errno = static_cast<int>(-moved);
    }
    if (moved <= 0) break;
    done += static_cast<size_t>(moved);
    if (ferror_unlocked(one.stream) || feof_unlocked(one.stream)) break;
  }
  funlockfile(one.stream);
  return done == bytes ? count : done / size;
}

}  // namespace

size_t staged_fwrite(const device::Found& found, const void* data, size_t size, size_t count, FILE* stream,
                     PutSome put) {
  StdioFile one{stream, put, nullptr};
  return staged_items(ReadOrWrite::write, found, const_cast<void*>(data), size, count, one);
}

size_t staged_fread(const device::Found& found, void* data, size_t size, size_t count, FILE* stream,
                    GetSome get) {
  StdioFile one{stream, nullptr, get};
  return staged_items(ReadOrWrite::read, found, data, size, count, one);
}

}  // namespace millrace::front
