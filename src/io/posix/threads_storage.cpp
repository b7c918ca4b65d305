// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/threads_storage.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>
#include <utility>

#include "io/posix/descriptor.hpp"
#include "io/posix/extent_lock.hpp"
#include "io/posix/owned.hpp"
#include "io/posix/transfer.hpp"

namespace millrace::io {

namespace {

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

Completion carry_out_locked(int fd, Request& request, Cache cache, bool locked, GiveWay* give_way) {
  if (!locked) return carry_out(fd, request, cache, give_way);
  std::uint64_t length = 0;  // including the gaps
  for (const iovec& part : request.data) length += part.iov_len;
  const ExtentLock lock(fd, request.offset, length);
  return carry_out(fd, request, cache, give_way);
}

Completion carry_out(LazyFile& file, Request& request, GiveWay* give_way) {
  if (request.op == Op::close) return {request.token, file.tell(request.last), 0};
  if (request.op == Op::resize) return {request.token, resize(file.given(), request.length), 0};
  const LazyFile::Access way = file.open();
  if (!way.status.ok()) return {request.token, way.status, 0};
  const bool locked = request.op == Op::write && file.local();
  const std::vector<iovec> data =
      way.cache != Cache::used && request.op == Op::write ? request.data : std::vector<iovec>();
  Completion done = carry_out_locked(way.fd, request, way.cache, locked, give_way);
  done.direct = way.cache != Cache::used;
  if (data.empty() || !refuses_direct(done.status) || !file.give_up_direct()) return done;
  request.data = data;
  return carry_out_locked(file.given().get(), request, Cache::used, locked, give_way);
}

}  // namespace

Result<std::unique_ptr<ThreadsStorage>> ThreadsStorage::create(unsigned threads) {
  Fd event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) return Status::from_errno(errno);
  std::unique_ptr<ThreadsStorage> storage(new ThreadsStorage(std::move(event)));
  // Workers start with all signals blocked, so that the main thread gets the signals.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status status;
  try {
    for (unsigned i = 0; i < std::max(threads, 1U); ++i) {
      storage->threads_.emplace_back([self = storage.get()] { self->work(); });
    }
  } catch (const std::system_error& error) {
    status = Status::from_errno(error.code().value());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  // One worker is enough.
  if (storage->threads_.empty()) return status;
  return storage;
}

ThreadsStorage::~ThreadsStorage() {
  {
    const std::lock_guard lock(mutex_);
    for (Job& job : held_) queue_.push_back(std::move(job));
    stop_ = true;
  }
  some_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Result<Handle> ThreadsStorage::adopt(Fd file, bool direct) {
  if (!file.valid()) return Status::from_errno(EBADF);
  files_.push_back({std::make_shared<LazyFile>(std::move(file), direct)});
  return static_cast<Handle>(files_.size() - 1);
}

void ThreadsStorage::release(Handle file) {
  std::shared_ptr<LazyFile> closed = std::move(files_.at(file).file);
  if (!closed || closed->closes_at_once()) return;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({std::move(closed), false, true, {}});
  }
  some_work_.notify_one();
}

Result<std::uint64_t> ThreadsStorage::size(Handle file) {
  struct statx about {};
  const int given = files_.at(file).file->given().get();
  if (::statx(given, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_SIZE, &about) != 0)
    return Status::from_errno(errno);
  return std::uint64_t{about.stx_size};
}

// close(2) of a file of this machine tells nothing, so its answer needs no worker.
void ThreadsStorage::submit(Request request) {
  const bool known = request.file < files_.size() && files_[request.file].file;
  if (known && request.op == Op::close && files_[request.file].file->local()) {
    const std::lock_guard lock(mutex_);
    return finish({request.token, {}, 0});
  }
  const bool turns = request.op == Op::write && known && !files_[request.file].file->passes_cache();
  held_.push_back({known ? files_[request.file].file : nullptr, turns, false, std::move(request)});
}

void ThreadsStorage::kick() {
  if (held_.empty()) return;
  std::size_t given = 0;
  {
    const std::lock_guard lock(mutex_);
    for (; !held_.empty() && queue_.size() < queue_max; ++given) {
      queue_.push_back(std::move(held_.front()));
      held_.pop_front();
    }
  }
  if (given == 1) {
    some_work_.notify_one();
  } else if (given > 1) {
    some_work_.notify_all();
  }
}

void ThreadsStorage::poll(std::vector<Completion>& out) {
  if (!any_.load(std::memory_order_acquire)) return;
  std::size_t room = 0;
  {
    const std::lock_guard lock(mutex_);
    out.insert(out.end(), completions_.begin(), completions_.end());
    completions_.clear();
    any_.store(false, std::memory_order_relaxed);
    // This read and the write in finish() are under the lock. So the descriptor is readable exactly while
    // there are completions.
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t taken = read(event_.get(), &count, sizeof count);
    room = queue_max - queue_.size();
  }
  // held_ has requests that did not fit at kick(), and requests that the caller is about to kick. Both may
  // start now.
  if (room > 0) kick();
}

// Call it with mutex_ held.
void ThreadsStorage::finish(const Completion& completion) {
  completions_.push_back(completion);
  if (completions_.size() > 1) return;
  any_.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  // The write cannot fail, because the counter is 0 and the descriptor belongs to this object.
  [[maybe_unused]] const ssize_t written = write(event_.get(), &one, sizeof one);
}

// The first job that may begin now. Call it with mutex_ held.
std::deque<ThreadsStorage::Job>::iterator ThreadsStorage::next_job() {
  return std::ranges::find_if(queue_, [this](const Job& job) {
    return !job.turns || std::ranges::find(writing_, job.file.get()) == writing_.end();
  });
}

void ThreadsStorage::work() {
  GiveWay give_way;
  std::unique_lock lock(mutex_);
  for (;;) {
    auto next = queue_.end();
    some_work_.wait(lock, [&] {
      next = next_job();
      return next != queue_.end() || (stop_ && queue_.empty());
    });
    if (next == queue_.end()) return;
    Job job = std::move(*next);
    queue_.erase(next);
    if (job.turns) writing_.push_back(job.file.get());
    lock.unlock();
    const std::uint64_t begin_ns = now_ns();
    Completion completion{job.request.token, Status::from_errno(EBADF), 0};
    if (job.releases) {
      job.file->close();
    } else if (job.request.op == Op::call) {
      completion.status = job.request.act();
    } else if (job.file) {
      completion = carry_out(*job.file, job.request, &give_way);
    }
    completion.begin_ns = begin_ns;
    completion.end_ns = now_ns();
    lock.lock();
    if (job.turns) {
      std::erase(writing_, job.file.get());
      if (!queue_.empty()) some_work_.notify_one();
    }
    if (stop_) some_work_.notify_all();
    if (!job.releases) finish(completion);
  }
}

}  // namespace millrace::io
