// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "common/system.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace bench {
namespace {

std::uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  std::uint64_t kib = 0;
  while (file >> name >> kib) {
    if (name == "MemAvailable:") return kib * 1024;
    std::getline(file, unit);
  }
  return 1ULL << 30;
}

// Memory of which every page has been touched, or MAP_FAILED.
void* map_touched(std::uint64_t bytes, std::uint64_t page, int advice) {
  if (bytes == 0) return MAP_FAILED;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return memory;
  ::madvise(memory, bytes, advice);
  auto* const touched = static_cast<volatile unsigned char*>(memory);
  for (std::uint64_t at = 0; at < bytes; at += page) touched[at] = 1;
  return memory;
}

}  // namespace

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::uint64_t warm_memory(std::uint64_t bytes, unsigned sharers, const std::function<void()>& while_held) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  // All sharers must have read the same figure before one of them begins to change it.
  const std::uint64_t most = available_memory() * 6 / 10 / (sharers > 0 ? sharers : 1);
  while_held();
  bytes = std::min(bytes, most / 2) / page * page;
  // Small pages take the fragments that small writes get their page cache from, huge ones the large blocks.
  void* const small = map_touched(bytes, page, MADV_NOHUGEPAGE);
  void* const huge = map_touched(bytes, page, MADV_HUGEPAGE);
  while_held();
  if (small != MAP_FAILED) ::munmap(small, bytes);
  if (huge != MAP_FAILED) ::munmap(huge, bytes);
  return small != MAP_FAILED && huge != MAP_FAILED ? bytes : 0;
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

void sync_file_system(const std::string& path) {
  const int fd = ::open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::syncfs(fd);
  ::close(fd);
}

void remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    throw std::runtime_error("cannot remove " + path + ": " + std::strerror(errno));
  }
}

Spread spread(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return {values.front(), (values[(n - 1) / 2] + values[n / 2]) / 2, values.back()};
}

}  // namespace bench
