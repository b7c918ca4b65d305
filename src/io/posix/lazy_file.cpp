// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/lazy_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "io/posix/descriptor.hpp"

namespace millrace::io {

namespace {

bool is_path_only(const Fd& file) {
  const int flags = ::fcntl(file.get(), F_GETFL);
  return flags >= 0 && (flags & O_PATH) != 0;
}

}  // namespace

bool refuses_direct(Status status) {
  return status.error() == EINVAL || status.error() == EOPNOTSUPP || status.error() == ENOSYS;
}

LazyFile::LazyFile(Fd file, bool direct)
    : file_(std::move(file)),
      type_(type_of(file_.get())),
      reads_only_(is_path_only(file_)),
      wanted_(type_.exact_direct ? Cache::passed
              : direct           ? Cache::passed_in_blocks
                                 : Cache::used),
      cache_(wanted_),
      ready_(wanted_ == Cache::used && !reads_only_) {}

LazyFile::Access LazyFile::open() {
  if (!ready()) {
    const std::lock_guard lock(mutex_);
    if (!ready()) {
      Result<Fd> opened = wanted_ == Cache::used ? open_to_read_again(file_) : reopen_direct(file_);
      if (wanted_ == Cache::passed_in_blocks && !opened) cache_.store(Cache::used);
      if (wanted_ == Cache::passed_in_blocks && !opened && reads_only_) opened = open_to_read_again(file_);
      if (wanted_ != Cache::passed_in_blocks || reads_only_) status_ = opened.status();
      if (opened) again_ = *std::move(opened);
      ready_.store(true, std::memory_order_release);
    }
  }
  const Cache cache = cache_.load();
  const bool twice = again_.valid() && (cache != Cache::used || reads_only_);
  return {twice ? again_.get() : file_.get(), cache, status_};
}

bool LazyFile::give_up_direct() {
  Cache blocks = Cache::passed_in_blocks;
  return cache_.compare_exchange_strong(blocks, Cache::used) || blocks == Cache::used;
}

Status LazyFile::tell(bool last) {
  Status first;
  for (Fd* one : {&file_, &again_}) {
    if (one == &again_ && (!ready() || !one->valid())) continue;
    Result<Fd> closed = last ? Result<Fd>(std::move(*one)) : duplicate(*one);
    const Status told = closed ? closed->close() : closed.status();
    if (first.ok()) first = told;
  }
  return first;
}

bool LazyFile::closes_at_once() const {
  struct stat about {};
  return local() && ::fstat(file_.get(), &about) == 0 && about.st_nlink > 0;
}

void LazyFile::close() {
  again_.reset();
  file_.reset();
}

}  // namespace millrace::io
