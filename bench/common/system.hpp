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
// touch than ever again. Before a run that writes `file_bytes` this touches what the run may need, as small
// pages and as huge ones (whichever its writes are made of, it finds them warm), and frees it. Collective
// among `sharers` processes, each of which takes its part; they wait for each other in `meet`.
void warm_memory(std::uint64_t file_bytes, unsigned sharers, const std::function<void()>& meet);

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
