// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "common/team.hpp"

#include <sched.h>

#include <algorithm>

namespace bench {

namespace {

std::vector<int> processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> found;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) found.push_back(cpu);
    }
  }
  if (found.empty()) found.push_back(0);
  return found;
}

// A thread that moves takes its memory's distance with it. Failure costs speed only.
void stay_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  static_cast<void>(sched_setaffinity(0, sizeof set, &set));
}

}  // namespace

unsigned usable_processors() { return static_cast<unsigned>(processors().size()); }

double Team::run(const std::function<void(unsigned)>& work) const {
  const std::vector<int> cpus = processors();
  std::barrier start(static_cast<std::ptrdiff_t>(size_));
  std::vector<double> begins(size_), ends(size_);
  std::vector<std::thread> threads;
  threads.reserve(size_);
  for (unsigned i = 0; i < size_; ++i) {
    threads.emplace_back([&, i] {
      stay_on(cpus[i % cpus.size()]);
      start.arrive_and_wait();
      begins[i] = now_s();
      work(i);
      ends[i] = now_s();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return *std::max_element(ends.begin(), ends.end()) - *std::min_element(begins.begin(), begins.end());
}

}  // namespace bench
