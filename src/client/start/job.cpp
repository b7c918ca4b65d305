// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/start/job.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/fd.hpp"

namespace millrace::client {

namespace {

struct Ancestor {
  std::string command;
  int parent = 0;
  unsigned long long started = 0;  // clock ticks since boot
};

// From /proc/PID/stat: "pid (command) state parent ... (22:) start time".
bool read_ancestor(int pid, Ancestor& one) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  char text[1024];
  const ssize_t size = file.valid() ? ::read(file.get(), text, sizeof text - 1) : -1;
  if (size <= 0) return false;
  text[size] = 0;
  const char* open = std::strchr(text, '(');
  const char* close = std::strrchr(text, ')');
  if (open == nullptr || close == nullptr) return false;
  one.command.assign(open + 1, close);
  return std::sscanf(close + 1,
                     " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                     &one.parent, &one.started) == 2;
}

bool is_launcher(const std::string& command) {
  for (const char* name :
       {"hydra_pmi_proxy", "mpiexec", "mpirun", "orted", "prted", "prterun", "slurmstepd", "pmi_proxy"}) {
    if (command.compare(0, std::strlen(name), name, 0, 15) == 0 || command == name) return true;
  }
  return false;
}

std::string describe(const char* what, int pid) {
  Ancestor one;
  (void)read_ancestor(pid, one);
  return std::string(what) + ":" + std::to_string(pid) + ":" + std::to_string(one.started);
}

// The launcher's own name of the job; empty if it gives none.
std::string launched_job() {
  for (const char* name : {"OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE", "PMI_JOBID"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != 0)
      return std::string(name) + ":" + value;
  }
  return {};
}

// Looks for the launcher among this process's ancestors, because each rank may run below a shell script.
// Returns its process, or -1.
int find_launcher(Ancestor& one) {
  int pid = ::getppid();
  for (int level = 0; level < 8 && pid > 1; ++level) {
    if (!read_ancestor(pid, one)) break;
    if (is_launcher(one.command)) return pid;
    pid = one.parent;
  }
  return -1;
}

std::string launcher() {
  Ancestor found;
  const int pid = find_launcher(found);
  return pid > 0 ? describe("launcher", pid) : describe("parent", ::getppid());
}

}  // namespace

int launcher_rank() {
  for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != 0) return std::atoi(value);
  }
  return -1;
}

NodePlace place_on_node() {
  constexpr std::array<std::array<const char*, 2>, 3> names{
      {{"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
       {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
       {"PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"}}};
  for (const auto& [number, count] : names) {
    const char* const one = std::getenv(number);
    const char* const all = std::getenv(count);
    if (one != nullptr && all != nullptr) return {std::atoi(one), std::atoi(all)};
  }
  return {};
}

std::string job_key(const Settings& settings) {
  if (!settings.job.empty()) return "job:" + settings.job;
  if (launcher_rank() < 0) return describe("process", ::getpid());
  if (const char* job = std::getenv("SLURM_JOB_ID"); job != nullptr) {
    const char* step = std::getenv("SLURM_STEP_ID");
    // mpiexec inside an allocation starts many jobs in one step, so the step tells only srun's own jobs
    // apart.
    if (step != nullptr && std::getenv("SLURM_PROCID") != nullptr && std::getenv("PMI_FD") == nullptr &&
        std::getenv("OMPI_MCA_ess_base_jobid") == nullptr) {
      return std::string("slurm:") + job + "." + step;
    }
  }
  const std::string launched = launched_job();
  return launched.empty() ? launcher() : launched + ":" + launcher();
}

transport::Processors processors_of(int process) {
  cpu_set_t set;
  CPU_ZERO(&set);
  transport::Processors found;
  if (::sched_getaffinity(process, sizeof set, &set) != 0) return found;
  for (std::size_t one = 0; one < transport::Processors::most; ++one) {
    if (CPU_ISSET(one, &set)) found.add(one);
  }
  return found;
}

transport::Processors processors_of_job() {
  Ancestor found;
  const int pid = launcher_rank() < 0 ? -1 : find_launcher(found);
  if (pid < 0) return processors_of(0);
  // Slurm's process on a node may use all processors. The control group, or else the agent, keeps to the
  // job's.
  return found.command == "slurmstepd" ? transport::Processors::all() : processors_of(pid);
}

std::string world_key(const Settings& settings) {
  return settings.job + ":" + launched_job() + ":" + launcher();
}

bool spans_nodes(int ranks) {
  const NodePlace place = place_on_node();
  return place.count > 0 && ranks > place.count;
}

bool may_span_nodes(int ranks) { return ranks > std::max(place_on_node().count, 1); }

bool is_first_of_node() { return place_on_node().number == 0; }

bool leads_node(int ranks) { return is_first_of_node() && spans_nodes(ranks); }

bool is_last_of_node(int ranks) {
  const NodePlace place = place_on_node();
  return place.number + 1 == place.count && spans_nodes(ranks);
}

}  // namespace millrace::client
