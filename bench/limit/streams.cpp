// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "limit/streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "common/pattern.hpp"
#include "common/system.hpp"

namespace bench {
namespace {

constexpr std::uint64_t block = 4096;  // the alignment for O_DIRECT on every usual file system

[[noreturn]] void fail(const std::string& what, int error) {
  throw std::runtime_error(what + ": " + std::strerror(error));
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<unsigned char, Free>;

Buffer aligned_buffer(std::uint64_t size) {
  Buffer buffer(static_cast<unsigned char*>(std::aligned_alloc(block, (size + block - 1) / block * block)));
  if (!buffer) fail("buffer", ENOMEM);
  std::memset(buffer.get(), 0, size);
  return buffer;
}

int open_new(const Stream& stream, int flags) {
  const int fd = ::open(stream.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | flags, 0644);
  if (fd < 0) fail("cannot create " + stream.path, errno);
  return fd;
}

void write_all(int fd, const unsigned char* data, std::uint64_t size, std::uint64_t offset) {
  while (size > 0) {
    const ssize_t done = ::pwrite(fd, data, size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail("pwrite", done < 0 ? errno : ENOSPC);
    data += done;
    size -= static_cast<std::uint64_t>(done);
    offset += static_cast<std::uint64_t>(done);
  }
}

void finish(int fd, bool sync) {
  if (sync && ::fsync(fd) != 0) fail("fsync", errno);
  if (::close(fd) != 0) fail("close", errno);
}

double buffered(const Stream& stream, std::uint64_t pace) {
  const Buffer buffer = aligned_buffer(stream.transfer);
  const double begin = now_s();
  const int fd = open_new(stream, 0);
  std::uint64_t handed_over = 0;
  for (std::uint64_t at = 0; at < stream.size; at += stream.transfer) {
    const std::uint64_t piece = std::min(stream.transfer, stream.size - at);
    fill(buffer.get(), piece, at, stream.seed);
    write_all(fd, buffer.get(), piece, at);
    if (pace > 0 && at + piece - handed_over >= pace) {
      // Advice only: a file system that cannot do it is measured without it.
      (void)::sync_file_range(fd, static_cast<off_t>(handed_over),
                              static_cast<off_t>(at + piece - handed_over), SYNC_FILE_RANGE_WRITE);
      handed_over = at + piece;
    }
  }
  finish(fd, stream.fsync);
  return now_s() - begin;
}

// Writes whole pieces at the next free position until the end; the last piece is padded to a whole block.
void direct_writer(int fd, const Stream& stream, std::atomic<std::uint64_t>& next, unsigned char* buffer) {
  for (;;) {
    const std::uint64_t at = next.fetch_add(stream.transfer, std::memory_order_relaxed);
    if (at >= stream.size) return;
    const std::uint64_t piece = std::min(stream.transfer, stream.size - at);
    fill(buffer, piece, at, stream.seed);
    write_all(fd, buffer, (piece + block - 1) / block * block, at);
  }
}

void run_direct(int fd, const Stream& stream) {
  // Space first: writes that extend a file take their turns, whatever the depth.
  if (::fallocate(fd, 0, 0, static_cast<off_t>(stream.size)) != 0 &&
      ::ftruncate(fd, static_cast<off_t>(stream.size)) != 0) {
    fail("cannot set the size of " + stream.path, errno);
  }
  std::vector<Buffer> buffers;
  buffers.reserve(stream.depth);
  for (unsigned i = 0; i < stream.depth; i++) buffers.push_back(aligned_buffer(stream.transfer));
  std::atomic<std::uint64_t> next{0};
  std::vector<std::string> problems(stream.depth);
  std::vector<std::thread> threads;
  threads.reserve(stream.depth);
  for (unsigned i = 0; i < stream.depth; i++) {
    threads.emplace_back([&, i] {
      try {
        direct_writer(fd, stream, next, buffers[i].get());
      } catch (const std::exception& problem) {
        problems[i] = problem.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : problems) {
    if (!problem.empty()) throw std::runtime_error(problem);
  }
  if (stream.size % block != 0 && ::ftruncate(fd, static_cast<off_t>(stream.size)) != 0) {
    fail("ftruncate", errno);
  }
}

}  // namespace

double write_buffered(const Stream& stream) { return buffered(stream, 0); }
double write_paced(const Stream& stream) { return buffered(stream, stream.pace); }

double write_direct(const Stream& stream) {
  const double begin = now_s();
  const int fd = open_new(stream, O_DIRECT);
  run_direct(fd, stream);
  finish(fd, stream.fsync);
  return now_s() - begin;
}

}  // namespace bench
