// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/transfer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <utility>

#include "io/posix/identity.hpp"

namespace millrace::io {

namespace {

// The most bytes of one buffered write. The kernel makes a folio of the page cache as large as the call. A
// hypervisor may have taken back the free memory for large folios. Then the first file of a program is
// several times slower.
constexpr std::uint64_t buffered_call_max = std::uint64_t{64} << 10;

// Repeats a call that a signal has interrupted. Returns -errno on failure.
template <class Call>
ssize_t uninterrupted(Call call) {
  for (;;) {
    const ssize_t result = call();
    if (result >= 0) return result;
    if (errno != EINTR) return -errno;
  }
}

}  // namespace

VectoredTransfer::VectoredTransfer(Request& request, Cache cache, std::uint64_t call_max)
    : data_(request.data),
      call_max_(call_max),
      offset_(request.offset),
      read_(request.op == Op::read),
      in_blocks_(cache == Cache::passed_in_blocks) {
  for (const iovec& part : data_) left_ += part.iov_len;
}

std::span<iovec> VectoredTransfer::next() {
  const auto gap = [](const iovec& part) { return part.iov_base == nullptr; };
  for (; !data_.empty() && gap(data_.front()); data_ = data_.subspan(1)) {
    offset_ += data_.front().iov_len;
    left_ -= data_.front().iov_len;
  }
  const std::span<iovec> some = data_.first(std::min<std::size_t>(data_.size(), IOV_MAX));
  std::uint64_t room = call_max_ - offset_ % call_max_;
  std::size_t count = 0;
  for (; count < some.size() && !gap(some[count]) && some[count].iov_len <= room; ++count)
    room -= some[count].iov_len;
  if (room > 0 && count < some.size() && !gap(some[count])) {
    shortened_ = &some[count++];
    cut_off_ = shortened_->iov_len - room;
    shortened_->iov_len = room;
  }
  return some.first(count);
}

void VectoredTransfer::skip(std::uint64_t bytes) {
  moved_ += bytes;
  offset_ += bytes;
  left_ -= bytes;
  while (bytes > 0) {
    iovec& front = data_.front();
    const std::size_t some = std::min<std::uint64_t>(bytes, front.iov_len);
    front.iov_base = static_cast<std::byte*>(front.iov_base) + some;
    front.iov_len -= some;
    bytes -= some;
    if (front.iov_len == 0) data_ = data_.subspan(1);
  }
  while (!data_.empty() && data_.front().iov_len == 0) data_ = data_.subspan(1);
}

bool VectoredTransfer::fail(Status status) {
  if (status_.ok()) status_ = status;
  for (; !data_.empty() && data_.front().iov_base != nullptr; data_ = data_.subspan(1)) {
    offset_ += data_.front().iov_len;
    left_ -= data_.front().iov_len;
  }
  return left_ > 0;
}

bool VectoredTransfer::advance(ssize_t result) {
  if (shortened_ != nullptr) std::exchange(shortened_, nullptr)->iov_len += cut_off_;
  if (result < 0) {
    if (result == -EINTR || (result == -EAGAIN && ++refusals_ <= most_refusals)) return true;
    return fail(Status::from_errno(static_cast<int>(-result)));
  }
  refusals_ = 0;
  auto bytes = static_cast<std::uint64_t>(result);
  if (read_ && bytes == 0) return false;  // end of file
  // A direct write that stopped inside a block goes on from the start of that block. A direct read stops
  // inside a block only at the end of the file.
  if (in_blocks_ && bytes < left_ && bytes % direct_alignment != 0) {
    if (read_) {
      skip(bytes);
      return false;
    }
    bytes -= bytes % direct_alignment;
  }
  if (bytes == 0 && left_ > 0) {
    return fail(Status(Code::io, EIO));  // no progress and no error: do not loop
  }
  skip(bytes);
  return left_ > 0;
}

Completion carry_out(int fd, Request& request, Cache cache, GiveWay* give_way) {
  ssize_t result = 0;
  switch (request.op) {
    case Op::writeback:
      // This is only a hint. If the file system does not support it, the kernel writes the pages later.
      (void)uninterrupted([&] {
        return sync_file_range(fd, static_cast<off_t>(request.offset), static_cast<off_t>(request.length),
                               SYNC_FILE_RANGE_WRITE);
      });
      return {request.token, {}, 0};
    case Op::datasync:
      result = uninterrupted([&] { return fdatasync(fd); });
      return {request.token, Status::from_errno(static_cast<int>(-result)), 0};
    case Op::look: {
      const Result<FileState> state = state_of(fd);
      Completion done{request.token, state.status(), 0};
      if (state) done.state = *state;
      return done;
    }
    case Op::close:  // only a storage knows all descriptors of its file (lazy_file.hpp)
    case Op::resize:
    case Op::call:
    case Op::write:
    case Op::read:
      break;
  }
  const bool cuts = request.op == Op::write && cache == Cache::used;
  VectoredTransfer transfer(request, cache, cuts ? buffered_call_max : UINT64_MAX);
  if (transfer.over()) return {request.token, {}, 0};
  if (give_way != nullptr) give_way->begin();
  do {
    if (give_way != nullptr && cache == Cache::used) give_way->between();
    if (const std::uint64_t rest_ns = transfer.rest_ns(); rest_ns > 0) {
      const timespec rest{static_cast<time_t>(rest_ns / 1'000'000'000),
                          static_cast<long>(rest_ns % 1'000'000'000)};
      ::nanosleep(&rest, nullptr);
    }
    const std::span<iovec> data = transfer.next();
    const int count = static_cast<int>(data.size());
    const auto offset = static_cast<off_t>(transfer.offset());
    result = uninterrupted([&] {
      return request.op == Op::write ? pwritev(fd, data.data(), count, offset)
                                     : preadv(fd, data.data(), count, offset);
    });
  } while (transfer.advance(result));
  return {request.token, transfer.status(), transfer.moved()};
}

}  // namespace millrace::io
