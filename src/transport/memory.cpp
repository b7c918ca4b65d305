// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/memory.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace millrace::transport {

namespace {
constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

bool may_have_files_of(std::uint64_t size) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

Result<Fd> make_memory(const char* name, std::uint64_t size) {
  if (!may_have_files_of(size)) return Status::from_errno(EFBIG);
  Fd memory(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.valid()) return Status::from_errno(errno);
  if (::ftruncate(memory.get(), static_cast<off_t>(size)) != 0) return Status::from_errno(errno);
  if (::fcntl(memory.get(), F_ADD_SEALS, seals) != 0) return Status::from_errno(errno);
  return memory;
}

bool is_sealed_memory(int memory, std::uint64_t size) {
  struct stat status = {};
  const int found = ::fcntl(memory, F_GET_SEALS);
  return found >= 0 && (found & seals) == seals && ::fstat(memory, &status) == 0 &&
         static_cast<std::uint64_t>(status.st_size) == size;
}

Result<Mapping> map(int memory, std::uint64_t size, int access) {
  void* data = ::mmap(nullptr, size, access, MAP_SHARED, memory, 0);
  if (data == MAP_FAILED) return Status::from_errno(errno);
  return Mapping(data, size);
}

Result<Mapping> map_ring(int memory, std::uint64_t offset, std::uint64_t size) {
  void* both = ::mmap(nullptr, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (both == MAP_FAILED) return Status::from_errno(errno);
  Mapping ring(both, 2 * size);
  for (std::byte* at : {ring.data(), ring.data() + size}) {
    void* half =
        ::mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, static_cast<off_t>(offset));
    if (half == MAP_FAILED) return Status::from_errno(errno);
  }
  return ring;
}

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint32_t timeout_ms) {
  const timespec timeout{timeout_ms / 1000, static_cast<long>(timeout_ms % 1000) * 1'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, &timeout, nullptr, 0);
}

void futex_wake(const std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace millrace::transport
