// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "plain/behind.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <limits>

#include "base/environment.hpp"

namespace millrace::plain {

constinit thread_local bool Behind::inside = false;

// Holds the lock, blocks signals and cancellation, and keeps errno.
class Behind::Locked {
 public:
  explicit Locked(Behind& behind) : behind_(behind), error_(errno) {
    sigset_t all;
    sigfillset(&all);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable_);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
    pthread_mutex_lock(&behind_.lock_);
    inside = true;
  }
  ~Locked() {
    inside = false;
    pthread_mutex_unlock(&behind_.lock_);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    pthread_setcancelstate(cancellable_, nullptr);
    errno = error_;
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Behind& behind_;
  int error_;
  int cancellable_ = 0;
  sigset_t before_;
};

void Behind::configure(const char* patterns, std::size_t memory_bytes) {
  memory_bytes_ = memory_bytes;
  patterns_ = patterns;
}

bool Behind::selected(int fd, int flags) {
  constexpr int other = O_APPEND | O_DIRECT | O_SYNC | O_DSYNC | O_PATH;
  if (patterns_ == nullptr || (flags & O_ACCMODE) == O_RDONLY || (flags & other) != 0) return false;
  char path[PATH_MAX];
  return fd < descriptors_max && calls_.regular(fd) && !calls_.size_limited() &&
         calls_.path_of(fd, path, sizeof path) && any_pattern_matches(patterns_, path);
}

void Behind::opened(int fd, int flags) {
  if (inside) return;
  FileId id;
  const int error = errno;
  const bool wanted = selected(fd, flags);
  if ((any() || wanted) && calls_.identify(fd, &id)) {
    const Locked locked(*this);
    bool shared = false;
    for (std::size_t i = 0; i < files_max; ++i) {
      // The number was closed without a hook, or the file has a second descriptor now. Only calls through the
      // first descriptor settle a file, so write-behind ends for it.
      if (all_[i].fd < 0 || (all_[i].fd != fd && !(all_[i].id == id))) continue;
      shared = shared || all_[i].fd != fd;
      wait_for(i);
      forget(i);
    }
    const auto free = std::find_if(all_.begin(), all_.end(), [](const File& file) { return file.fd < 0; });
    if (wanted && !shared && free != all_.end() && !calls_.open_elsewhere(fd, id) && start()) {
      *free = {fd, id, 0, 0};
      file_of_[fd].store(static_cast<std::uint8_t>(free - all_.begin() + 1), std::memory_order_release);
      files_.fetch_add(1, std::memory_order_release);
    }
  }
  errno = error;
}

bool Behind::start() {
  if (!backlog_.has_memory()) {
    char* memory = calls_.memory(memory_bytes_);
    if (memory == nullptr) return false;
    backlog_.set_memory(memory, memory_bytes_);
    calls_.install();
  }
  if (running_) return true;
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // The thread inherits the signal mask, which blocks all signals.
  running_ = pthread_create(&thread, &attributes, &Behind::run, this) == 0;
  pthread_attr_destroy(&attributes);
  return running_;
}

std::optional<ssize_t> Behind::write(int fd, const iovec* pieces, int count, off_t at) {
  if (!takes(fd)) return std::nullopt;
  int told = 0;
  std::optional<ssize_t> result;
  {
    const Locked locked(*this);
    const std::size_t index = file_of_[fd].load(std::memory_order_relaxed);
    if (index == 0) return std::nullopt;
    File& file = all_[index - 1];
    if (file.error != 0) {
      wait_for(index - 1);
      told = file.error;
      forget(index - 1);
      result = -1;
    } else {
      result = append(index - 1, pieces, count, at);
    }
  }
  if (told != 0) errno = told;
  return result;
}

std::optional<ssize_t> Behind::append(std::size_t file, const iovec* pieces, int count, off_t at) {
  std::size_t bytes = 0;
  if (count < 0 || count > IOV_MAX) return std::nullopt;
  for (int i = 0; i < count; ++i) {
    if (pieces[i].iov_len > request_bytes_max - bytes) return std::nullopt;
    bytes += pieces[i].iov_len;
  }
  // For a wrong offset, the system's own call reports the error.
  if (at < -1 || at > std::numeric_limits<off_t>::max() - static_cast<off_t>(bytes)) return std::nullopt;
  if (at < 0) {
    const off_t end = calls_.lseek(all_[file].fd, static_cast<off_t>(bytes), SEEK_CUR);
    if (end < 0) return std::nullopt;
    at = end - static_cast<off_t>(bytes);
  }
  for (int i = 0; i < count; ++i) {
    if (!put(file, static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len, at)) break;
    at += static_cast<off_t>(pieces[i].iov_len);
  }
  return static_cast<ssize_t>(bytes);
}

// False: the thread got an error meanwhile, and the rest is dropped.
bool Behind::put(std::size_t file, const char* data, std::size_t bytes, off_t at) {
  while (bytes > 0) {
    if (all_[file].error != 0) return false;
    bool joined = false;
    const std::size_t taken = backlog_.put(file, data, bytes, at, joined);
    if (taken > 0 && !joined) ++all_[file].pending;
    data += taken;
    bytes -= taken;
    at += static_cast<off_t>(taken);
    if (sleeping_) {
      sleeping_ = false;
      pthread_cond_signal(&for_thread_);
    }
    if (taken == 0) {
      ++waiting_;
      pthread_cond_wait(&for_callers_, &lock_);
      --waiting_;
    }
  }
  return true;
}

void Behind::wait_for(std::size_t file) {
  while (all_[file].pending > 0) {
    ++waiting_;
    pthread_cond_wait(&for_callers_, &lock_);
    --waiting_;
  }
}

void Behind::forget(std::size_t file) {
  if (all_[file].fd < 0) return;
  file_of_[all_[file].fd].store(0, std::memory_order_release);
  all_[file] = {};
  files_.fetch_sub(1, std::memory_order_release);
}

void Behind::settle(int fd) {
  if (!takes(fd)) return;
  const Locked locked(*this);
  const std::size_t index = file_of_[fd].load(std::memory_order_relaxed);
  if (index != 0) wait_for(index - 1);
}

void Behind::settle_all() {
  if (!any()) return;
  const Locked locked(*this);
  for (std::size_t i = 0; i < files_max; ++i) wait_for(i);
}

void Behind::release(int fd) {
  if (!takes(fd)) return;
  const Locked locked(*this);
  const std::size_t index = file_of_[fd].load(std::memory_order_relaxed);
  if (index == 0) return;
  wait_for(index - 1);
  if (all_[index - 1].error == 0) forget(index - 1);
}

void Behind::drop(int fd) {
  if (!takes(fd)) return;
  const Locked locked(*this);
  const std::size_t index = file_of_[fd].load(std::memory_order_relaxed);
  if (index == 0) return;
  wait_for(index - 1);
  forget(index - 1);
}

void Behind::release_all() {
  if (!any()) return;
  const Locked locked(*this);
  for (std::size_t i = 0; i < files_max; ++i) {
    wait_for(i);
    forget(i);
  }
}

int Behind::settle_to_tell(int fd) {
  if (!takes(fd)) return 0;
  const Locked locked(*this);
  const std::size_t index = file_of_[fd].load(std::memory_order_relaxed);
  if (index == 0) return 0;
  wait_for(index - 1);
  const int error = all_[index - 1].error;
  if (error != 0) forget(index - 1);
  return error;
}

void Behind::before_fork() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_mutex_lock(&lock_);
  mask_at_fork_ = before;
  for (std::size_t i = 0; i < files_max; ++i) wait_for(i);
}

void Behind::after_fork(bool child) {
  if (child) {
    for (std::size_t i = 0; i < files_max; ++i) forget(i);
    backlog_.reset();  // its memory stays with the parent
    running_ = sleeping_ = false;
    waiting_ = 0;
    for_thread_ = PTHREAD_COND_INITIALIZER;
    for_callers_ = PTHREAD_COND_INITIALIZER;
  }
  const sigset_t before = mask_at_fork_;
  pthread_mutex_unlock(&lock_);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void* Behind::run(void* self) {
  static_cast<Behind*>(self)->work();
  return nullptr;
}

void Behind::work() {
  inside = true;
  pthread_mutex_lock(&lock_);
  for (;;) {
    while (backlog_.empty()) {
      sleeping_ = true;
      pthread_cond_wait(&for_thread_, &lock_);
    }
    const Backlog::Request request = backlog_.claim();
    const int fd = all_[request.file].fd;
    int error = all_[request.file].error;
    pthread_mutex_unlock(&lock_);
    std::size_t done = 0;
    while (done < request.bytes && error == 0) {
      const ssize_t n =
          calls_.pwrite(fd, request.data + done, request.bytes - done, request.at + static_cast<off_t>(done));
      if (n > 0) done += static_cast<std::size_t>(n);
      if (n == 0) error = EIO;
      if (n < 0 && errno != EINTR) error = errno;
    }
    if (done > 0) early_.wrote(calls_, fd, request.at, done);
    pthread_mutex_lock(&lock_);
    backlog_.done();
    all_[request.file].error = error;
    --all_[request.file].pending;
    if (waiting_ > 0) pthread_cond_broadcast(&for_callers_);
  }
}

}  // namespace millrace::plain
