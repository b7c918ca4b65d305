// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/open/opening.hpp"

#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "client/open/own_process.hpp"
#include "front/mpiio/ranks/nodes.hpp"

namespace millrace::front {
namespace {

// File system prefixes that ROMIO removes from a name. The rest is the name for the kernel.
constexpr std::array<std::string_view, 9> posix_prefixes{"ufs", "nfs",     "lustre", "gpfs", "panfs",
                                                         "xfs", "quobyte", "beegfs", "pfs"};
// Prefixes of files that the kernel does not know.
constexpr std::array<std::string_view, 6> foreign_prefixes{"testfs", "daos", "ime",
                                                           "pvfs2",  "pvfs", "gridftp"};

}  // namespace

std::optional<std::string> kernel_path(std::string_view name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return std::string(name);
  const std::string_view prefix = name.substr(0, colon);
  const auto is = [&](std::string_view known) { return known == prefix; };
  if (std::ranges::any_of(foreign_prefixes, is)) return std::nullopt;
  struct stat found;
  const bool literal = ::stat(std::string(name).c_str(), &found) == 0;
  if (!literal && std::ranges::any_of(posix_prefixes, is)) return std::string(name.substr(colon + 1));
  return std::string(name);
}

Settings settings_of(MPI_Info info, const char* filename) {
  Settings settings = client::process_settings();
  int keys = 0;
  if (info == MPI_INFO_NULL || PMPI_Info_get_nkeys(info, &keys) != MPI_SUCCESS) return settings;
  constexpr std::string_view prefix = "millrace_";
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1];
    char value[MPI_MAX_INFO_VAL + 1];
    int found = 0;
    if (PMPI_Info_get_nthkey(info, i, key) != MPI_SUCCESS) continue;
    if (!std::string_view(key).starts_with(prefix)) continue;
    if (PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found) != MPI_SUCCESS || found == 0) continue;
    std::string message;
    if (!set(settings, key + prefix.size(), value, message).ok())
      client::log(std::string(filename) + ": hint " + key + " is ignored: " + message);
  }
  return settings;
}

bool stays_direct(const Settings& settings, std::string_view kind) {
  return std::ranges::find(settings.direct_calls, kind) != settings.direct_calls.end();
}

// Below MPI_THREAD_MULTIPLE the program ensures that MPI calls do not overlap.
void ask_for_threads() {
  [[maybe_unused]] static const bool asked = [] {
    int provided = MPI_THREAD_MULTIPLE;
    if (PMPI_Query_thread(&provided) == MPI_SUCCESS && provided < MPI_THREAD_MULTIPLE)
      client::calls_are_serialized();
    return true;
  }();
}

bool reaches_agent(const std::string& path) {
  if (client::reserve_descriptors()) return true;
  client::log(
      path +
      ": no file descriptors are left for the connection with the agent: all ranks write the file with "
      "the MPI library alone; raise the limit (ulimit -n)");
  return false;
}

int refuse_open(int value) {
#ifndef OPEN_MPI  // Open MPI does not accept this handle here
  PMPI_File_call_errhandler(MPI_FILE_NULL, value);
#endif
  return value;
}

Company own_company(int rank, bool wanted, const Admission& admission) {
  static const std::uint64_t node = node_number();
  Company mine{0, wanted ? 0u : 1u, node, ~node};
  if (!admission.here) mine.refused = blocked_open;
  if (rank != 0) return mine;
  if (::getrandom(&mine.group, sizeof mine.group, 0) != sizeof mine.group) mine.refused = 1;
  // The number is never 0 and never above INT64_MAX, because MPICH compares MPI_UINT64_T as signed numbers.
  mine.group = (mine.group >> 1) | 1u;
  return mine;
}

bool reduce_words(MPI_Comm comm, const std::uint64_t* mine, std::uint64_t* all, int words) {
  return PMPI_Allreduce(mine, all, words, MPI_UINT64_T, MPI_MAX, comm) == MPI_SUCCESS;
}

void take_most(std::uint64_t* all, const std::uint64_t* one, int words) {
  for (int i = 0; i < words; ++i) all[i] = std::max(all[i], one[i]);
}

bool wait_asleep(int started, MPI_Request& request, const Late& late) {
  // A long wait has long pauses: ranks that look often take processor time from the agents.
  constexpr long first_ns = 20'000, usual_ns = 250'000, longest_ns = 1'000'000;
  // In a longer pause the process was stopped.
  constexpr std::chrono::nanoseconds longest_run = std::chrono::milliseconds(100);
  int done = 0;
  if (started != MPI_SUCCESS) return false;
  timespec pause{0, first_ns};
  bool told = false;
  auto before = std::chrono::steady_clock::now();
  for (long waited_ns = 0;;) {
    if (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (done != 0) return true;
    ::nanosleep(&pause, nullptr);
    // Not what the pauses should have taken: where processors are scarce, they take several times as long.
    const auto now = std::chrono::steady_clock::now();
    waited_ns += static_cast<long>(std::min(now - before, longest_run).count());
    before = now;
    if (!told && static_cast<std::uint64_t>(waited_ns) / 1'000'000 >= late.after_ms) {
      told = true;
      late.act();
    }
    pause.tv_nsec = std::min(2 * pause.tv_nsec, std::clamp(waited_ns / 64, usual_ns, longest_ns));
  }
}

bool gather_bytes(MPI_Comm comm, std::span<const std::byte> mine, std::span<std::byte> all,
                  std::span<std::byte> word, const Late& late) {
  int rank = 0;
  if (PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS) return false;
  const int each = static_cast<int>(mine.size());
  std::vector<std::byte> told(all.size() + word.size());
  const auto told_word = std::span(told).subspan(all.size());
  MPI_Request request;
  int started = PMPI_Igather(mine.data(), each, MPI_BYTE, told.data(), each, MPI_BYTE, 0, comm, &request);
  if (!wait_asleep(started, request, late)) return false;
  if (rank == 0) std::ranges::copy(word, told_word.begin());
  started = PMPI_Ibcast(told.data(), static_cast<int>(told.size()), MPI_BYTE, 0, comm, &request);
  if (!wait_asleep(started, request, late)) return false;
  std::ranges::copy_n(told.begin(), static_cast<std::ptrdiff_t>(all.size()), all.begin());
  std::ranges::copy(told_word, word.begin());
  return true;
}

}  // namespace millrace::front
