// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "plain/backlog.hpp"
#include "plain/calls.hpp"
#include "plain/early.hpp"

namespace millrace::plain {

// Write-behind for files that the user has named. A write copies its bytes and returns, and a thread writes
// the bytes later, in the order of the calls. A process has one object; any thread may call it.
//
// The kernel keeps the file's offset: a write moves the offset to take its range. All other calls on the file
// settle it first: they wait until all bytes are in the file. Only calls through the file's one descriptor
// settle it, so a second descriptor of the same file ends write-behind for the file.
//
// If the thread gets an error for a file, it drops the file's later bytes. The file's next write, sync or
// close returns the error, once. After that the program writes the file without write-behind.
//
// A call blocks all signals, because a handler that ends the process would find the lock taken.
class Behind {
 public:
  constexpr Behind(const Calls& calls, EarlyWriteback& early) : calls_(calls), early_(early) {}
  Behind(const Behind&) = delete;
  Behind& operator=(const Behind&) = delete;

  // Call it once, before any other call. `patterns` (any_pattern_matches) must live as long as the process.
  void configure(const char* patterns, std::size_t memory_bytes);

  // False: no file has write-behind, so no call needs to settle.
  bool any() const { return files_.load(std::memory_order_acquire) > 0 && !inside; }
  bool takes(int fd) const {
    return fd >= 0 && fd < descriptors_max && file_of_[fd].load(std::memory_order_acquire) != 0 && !inside;
  }
  bool looks_at_opens() const { return patterns_ != nullptr; }

  // Call it after fd was opened, with these flags of open(2).
  void opened(int fd, int flags);

  // Takes a write at `at` (-1: at the file's offset). Returns -1 and errno for the error of an earlier write,
  // and nullopt if the caller has to make the write itself.
  std::optional<ssize_t> write(int fd, const iovec* pieces, int count, off_t at);

  // These wait until all bytes written through fd (or through any descriptor) are in the file. They keep
  // errno.
  void settle(int fd);
  void settle_all();

  // Settles, and ends write-behind for the file, unless an error is pending: the next call has to return the
  // error first. Keeps errno.
  void release(int fd);
  // Settles, and ends write-behind for a descriptor that is about to close. A pending error is lost.
  void drop(int fd);
  void release_all();

  // Settles, and returns the pending error, or 0.
  int settle_to_tell(int fd);

  // Call them around fork(). During the fork, no other thread holds the lock, and no bytes wait. The child
  // has no write-behind for the parent's files.
  void before_fork();
  void after_fork(bool child);

  static constexpr int descriptors_max = 4096;
  static constexpr std::size_t files_max = 64;

 private:
  struct File {
    int fd = -1;  // -1: free
    FileId id = {};
    unsigned pending = 0;  // requests in the backlog
    int error = 0;
  };
  class Locked;

  // True if this thread is already inside Behind. A call that another preloaded library makes then is not a
  // call of the program.
  static constinit thread_local bool inside;  // NOLINT(bugprone-dynamic-static-initializers)

  bool selected(int fd, int flags);
  bool start();
  std::optional<ssize_t> append(std::size_t file, const iovec* pieces, int count, off_t at);
  bool put(std::size_t file, const char* data, std::size_t bytes, off_t at);
  void wait_for(std::size_t file);
  void forget(std::size_t file);
  void work();
  static void* run(void* self);

  const Calls& calls_;
  EarlyWriteback& early_;
  const char* patterns_ = nullptr;
  std::size_t memory_bytes_ = 0;
  std::atomic<int> files_{0};
  std::array<std::atomic<std::uint8_t>, descriptors_max> file_of_ = {};  // index in all_ plus one

  // lock_ guards the members below.
  std::array<File, files_max> all_ = {};
  Backlog backlog_;
  bool running_ = false;
  bool sleeping_ = false;
  unsigned waiting_ = 0;
  sigset_t mask_at_fork_ = {};

  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t for_thread_ = PTHREAD_COND_INITIALIZER;
  pthread_cond_t for_callers_ = PTHREAD_COND_INITIALIZER;
};

}  // namespace millrace::plain
