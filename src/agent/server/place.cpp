// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/server/place.hpp"

#include <dirent.h>
#include <sched.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace millrace::agent {

using transport::Processors;

namespace {

Processors processors_of(pid_t thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  Processors found;
  if (::sched_getaffinity(thread, sizeof set, &set) != 0) return found;
  for (std::size_t one = 0; one < Processors::most; ++one) {
    if (CPU_ISSET(one, &set)) found.add(one);
  }
  return found;
}

// The number of the job's processors on this node, if Slurm tells.
std::size_t slurm_count() {
  const char* const count = std::getenv("SLURM_CPUS_ON_NODE");
  return count != nullptr ? static_cast<std::size_t>(std::atoll(count)) : SIZE_MAX;
}

bool move(pid_t thread, const Processors& to) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (std::size_t one = 0; one < Processors::most; ++one) {
    if (to.has(one)) CPU_SET(one, &set);
  }
  return ::sched_setaffinity(thread, sizeof set, &set) == 0;
}

}  // namespace

void ProcessorChoice::add(const Processors& own, const Processors& job) {
  job_ |= job;
  if (!own.empty() && !job.without(own).empty()) bound_ |= own;
}

Processors ProcessorChoice::of(const Processors& allowed) const {
  Processors all = job_;
  all &= allowed;
  // A rank that may use all of them is not bound.
  if (all.empty() || all.without(bound_).empty()) return all;
  return all.without(bound_);
}

void Placement::add(const Processors& own, const Processors& job) {
  const Processors before = processors_of(0);
  // The kernel takes away what the job's control group does not have.
  if (job.empty() || !move(0, Processors::all())) return;
  const Processors allowed = processors_of(0);
  choice_.add(own, job == Processors::all() && allowed.count() > slurm_count() ? own : job);
  const Processors chosen = choice_.of(allowed);
  const Processors after = chosen.empty() ? before : chosen;
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(::opendir("/proc/self/task"), &::closedir);
  while (const dirent* entry = threads ? ::readdir(threads.get()) : nullptr) {
    if (const int thread = std::atoi(entry->d_name); thread > 0) (void)move(thread, after);
  }
  (void)move(0, after);
}

std::string Placement::text() const { return processors_of(0).text(); }

}  // namespace millrace::agent
