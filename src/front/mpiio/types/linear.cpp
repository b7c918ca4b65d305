// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/types/linear.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <string>

#include "base/fd.hpp"

namespace millrace::front {
namespace {

constexpr std::uint64_t chunk_bytes = 1024 * 1024;
// The largest element. It takes this much memory twice: in the file and in `bytes_`.
constexpr std::uint64_t most_bytes = 256 * 1024 * 1024;

// The file in memory to which the library writes. The process has one, made when it is first needed.
struct Scratch {
  std::mutex mutex;
  Fd memory;
  MPI_File file = MPI_FILE_NULL;
  bool tried = false;
};
Scratch& scratch() {
  static Scratch& one = *new Scratch;
  return one;
}

bool is_ready(Scratch& one) {
  if (one.tried) return one.file != MPI_FILE_NULL;
  one.tried = true;
  one.memory.reset(::memfd_create("millrace-linear", MFD_CLOEXEC));
  if (!one.memory.valid()) return false;
  const std::string path = "/proc/self/fd/" + std::to_string(one.memory.get());
  if (::access(path.c_str(), W_OK) != 0) return false;
  if (PMPI_File_open(MPI_COMM_SELF, path.c_str(), MPI_MODE_RDWR, MPI_INFO_NULL, &one.file) != MPI_SUCCESS)
    one.file = MPI_FILE_NULL;
  // This file reports no errors. The later call on the program's own file does.
  if (one.file != MPI_FILE_NULL) PMPI_File_set_errhandler(one.file, MPI_ERRORS_RETURN);
  return one.file != MPI_FILE_NULL;
}

bool read_back(int fd, std::vector<std::byte>& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

Linear::Linear(const void* memory, MPI_Datatype type, MPI_Count count, std::uint64_t size)
    : memory_(static_cast<const std::byte*>(memory)), type_(type), left_(count), size_(size) {
  MPI_Aint lower = 0;
  failed_ = size == 0 || size > most_bytes || PMPI_Type_get_extent(type, &lower, &extent_) != MPI_SUCCESS;
}

bool Linear::next() {
  if (failed_ || left_ <= 0) return false;
  const auto room = static_cast<MPI_Count>(std::max<std::uint64_t>(chunk_bytes / size_, 1));
  const MPI_Count now = std::min({left_, room, MPI_Count{std::numeric_limits<int>::max()}});
  bytes_.resize(static_cast<std::size_t>(now) * size_);
  Scratch& one = scratch();
  const std::lock_guard lock(one.mutex);
  failed_ = !is_ready(one) || PMPI_File_write_at(one.file, 0, memory_, static_cast<int>(now), type_,
                                                 MPI_STATUS_IGNORE) != MPI_SUCCESS;
  failed_ = failed_ || !read_back(one.memory.get(), bytes_);
  memory_ += now * extent_;
  left_ -= now;
  return !failed_;
}

void end_linear() {
  Scratch& one = scratch();
  const std::lock_guard lock(one.mutex);
  if (one.file != MPI_FILE_NULL) PMPI_File_close(&one.file);
  one.memory.reset();
  one.tried = false;
}

}  // namespace millrace::front
