// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bench {

// Seconds on a clock that only goes forward.
double now_s();

// Memory that was freed long ago may have gone back to a hypervisor and then costs far more at the first
// touch than ever again. This takes `bytes` twice, as small pages and as huge ones (at most a fair share of what
// is available): whichever a method's writes are made of, it finds warm. Touches every page, calls `while_held`
// (ranks meet there, so that all of them hold their share at once), and frees it. Returns `bytes` as taken, 0 if
// there was no memory.
std::uint64_t warm_memory(std::uint64_t bytes, unsigned sharers, const std::function<void()>& while_held);

// What a run that writes `file_bytes` needs: the page cache of its file, and room for buffers of any method.
inline std::uint64_t memory_need(std::uint64_t file_bytes) {
  return file_bytes + file_bytes / 8 + (512ULL << 20);
}

// Writes the dirty data of the file system that holds `path` (or its directory) to the disk.
void sync_file_system(const std::string& path);

// The directory of `path`, "." if it names none.
std::string directory_of(const std::string& path);

// Removes a file if it is there. Throws std::runtime_error where it cannot.
void remove_file(const std::string& path);

// Smallest, median and largest; the median of an even number is the mean of the middle two. 0 of nothing.
struct Spread {
  double min = 0, median = 0, max = 0;
};
Spread spread(std::vector<double> values);

}  // namespace bench
