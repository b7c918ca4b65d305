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
#include <thread>

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
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return memory;
  ::madvise(memory, bytes, advice);
  auto* const touched = static_cast<volatile unsigned char*>(memory);
  for (std::uint64_t at = 0; at < bytes; at += page) touched[at] = 1;
  return memory;
}

// A guest tells its hypervisor every two seconds which of its memory is free. Writing a file of this size may
// take long enough to meet such a report. The program therefore holds the memory until a report has passed;
// the next one is two seconds away.
constexpr std::uint64_t lasting_bytes = 320ULL << 20;
constexpr std::chrono::milliseconds reporting_interval{2200};

// The memory for a run that writes `file_bytes`: the page cache of its file, and room for buffers of any
// method.
std::uint64_t memory_need(std::uint64_t file_bytes) { return file_bytes + file_bytes / 8 + (512ULL << 20); }

// Touches a fair share of that and frees it after `hold`, all sharers together.
void touch_memory(std::uint64_t file_bytes, unsigned sharers, const std::function<void()>& meet,
                  std::chrono::milliseconds hold) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t most = available_memory() * 3 / 10;
  meet();  // all have read the same figure before one begins to change it
  const std::uint64_t bytes = std::min(memory_need(file_bytes), most) / sharers / page * page;
  // Small pages take the fragments that small writes get their page cache from, huge ones the large blocks.
  void* const small = map_touched(bytes, page, MADV_NOHUGEPAGE);
  void* const huge = map_touched(bytes, page, MADV_HUGEPAGE);
  meet();
  std::this_thread::sleep_for(hold);
  if (small != MAP_FAILED) ::munmap(small, bytes);
  if (huge != MAP_FAILED) ::munmap(huge, bytes);
}

}  // namespace

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void warm_memory(std::uint64_t file_bytes, unsigned sharers, const std::function<void()>& meet) {
  if (file_bytes < lasting_bytes) {
    // Twice: a hypervisor may have taken back what one round left, while it touched cold memory.
    touch_memory(file_bytes, sharers, meet, {});
    touch_memory(file_bytes, sharers, meet, {});
  } else {
    touch_memory(file_bytes, sharers, meet, reporting_interval);
  }
  meet();
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
