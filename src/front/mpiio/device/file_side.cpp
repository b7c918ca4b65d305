// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/device/file_side.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "front/mpiio/call/completion.hpp"
#include "front/mpiio/call/library.hpp"
#include "front/mpiio/call/way.hpp"
#include "front/mpiio/types/datatype.hpp"

namespace millrace::front {

FileSide::FileSide(Open* open, const Row& row, const Arguments& arguments, std::uint64_t etype_bytes)
    : open_(open), row_(row), part_(arguments), etype_(etype_bytes) {
  part_.entry = Entry::pmpi;
  part_.type = MPI_BYTE;
  part_.map = find_map(MPI_BYTE);
}

std::size_t FileSide::move(std::byte* memory, std::size_t bytes) {
  MPI_Status status;
  part_.memory = memory;
  part_.count = static_cast<MPI_Count>(bytes);
  part_.status = &status;
  const int error = carry_out(open_, row_, part_);
  part_.goes_on = true;
  if (error != MPI_SUCCESS) {
    error_ = error;
    return 0;
  }
  const std::size_t done = std::min(static_cast<std::size_t>(bytes_of(status)), bytes);
  if (row_.position == Position::at) part_.offset += static_cast<MPI_Offset>(done / etype_);
  return done;
}

ssize_t FileSide::write(const std::byte* from, std::size_t bytes) {
  std::size_t used = 0;
  if (!rest_.empty()) {
    used = std::min<std::size_t>(bytes, etype_ - rest_.size());
    rest_.insert(rest_.end(), from, from + used);
    if (rest_.size() == etype_) {
      if (move(rest_.data(), rest_.size()) < etype_) return -EIO;
      rest_.clear();
    }
  }
  const std::size_t whole = (bytes - used) / etype_ * etype_;
  if (whole > 0 && move(const_cast<std::byte*>(from) + used, whole) < whole) return -EIO;
  rest_.insert(rest_.end(), from + used + whole, from + bytes);
  return static_cast<ssize_t>(bytes);
}

ssize_t FileSide::read(std::byte* into, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    if (!rest_.empty()) {
      const std::size_t some = std::min(bytes - done, rest_.size());
      std::memcpy(into + done, rest_.data(), some);
      rest_.erase(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(some));
      done += some;
      continue;
    }
    if (ended_) break;
    const std::size_t whole = (bytes - done) / etype_ * etype_;
    const std::size_t asked = whole > 0 ? whole : etype_;
    if (whole == 0) rest_.resize(etype_);
    const std::size_t got = move(whole > 0 ? into + done : rest_.data(), asked);
    if (whole == 0) rest_.resize(got);
    if (error_ != MPI_SUCCESS) return -EIO;
    if (whole > 0) done += got;
    ended_ = got < asked;
  }
  return static_cast<ssize_t>(done);
}

staging::HostEnd FileSide::end() {
  return {this,
          [](void* self, const void* from, std::size_t bytes) {
            return static_cast<FileSide*>(self)->write(static_cast<const std::byte*>(from), bytes);
          },
          [](void* self, void* into, std::size_t bytes) {
            return static_cast<FileSide*>(self)->read(static_cast<std::byte*>(into), bytes);
          },
          [](void*) { return true; },
          [](void* self, std::uint64_t) { static_cast<FileSide*>(self)->torn_ = true; }};
}

}  // namespace millrace::front
