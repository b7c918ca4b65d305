// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/ranks/exchange.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include "base/fd.hpp"
#include "client/open/attendance.hpp"
#include "client/open/own_process.hpp"
#include "client/start/log.hpp"
#include "front/mpiio/ranks/communicator.hpp"

namespace millrace::front {
namespace {

// Called on each rank that has waited for so long.
void name_missing(MPI_Comm comm) {
  int own = 0;
  PMPI_Comm_rank(comm, &own);
  const std::vector<int> ranks = world_ranks(comm);
  const int self = ranks.empty() ? -1 : ranks[static_cast<std::size_t>(own)];
  std::vector<int> missing;
  int first = self;  // of the waiting ranks of this node
  for (const int rank : ranks) {
    if (rank == self || !client::attends(rank)) continue;
    if (!client::waits(rank))
      missing.push_back(rank);
    else
      first = std::min(first, rank);
  }
  const std::string since = " in MPI_File_open for " + std::to_string(long_wait_ms() / 1000) + " s. ";
  if (!missing.empty() && self == first)
    client::log(
        list_of(missing) + " of MPI_COMM_WORLD " + (missing.size() == 1 ? "keeps" : "keep") +
        " other ranks waiting" + since +
        "The open goes on when they answer: they copy the file, wait for a file system, or are stopped");
  else if (missing.empty() && own == 0)
    client::log("ranks of other nodes keep this one waiting" + since + "The open goes on when they answer");
}

Late naming(MPI_Comm comm) {
  return {long_wait_ms(), [comm] { name_missing(comm); }};
}

}  // namespace

std::uint64_t long_wait_ms() {
  constexpr std::uint64_t shortest_ms = 30'000;
  return std::max(shortest_ms, client::process_settings().timeout_ms);
}

std::string list_of(const std::vector<int>& ranks) {
  constexpr std::size_t most = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size() && i < most; ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  if (ranks.size() > most) text += " and " + std::to_string(ranks.size() - most) + " others";
  return text;
}

bool wait_asleep(int started, MPI_Request& request, const Late& late) {
  // Ranks that come together need a moment, in which each step of an exchange waits for the one before. A
  // long wait has long pauses: ranks that look often take processor time from the agents.
  constexpr long moment_ns = 3'000'000, usual_ns = 250'000, longest_ns = 1'000'000;
  constexpr long shown_ns = 1'000'000'000;
  // In a longer pause the process was stopped.
  constexpr std::chrono::nanoseconds longest_run = std::chrono::milliseconds(100);
  int done = 0;
  if (started != MPI_SUCCESS) return false;
  timespec pause{0, usual_ns};
  bool shown = !late.act, told = false;
  Fd waiting;
  auto before = std::chrono::steady_clock::now();
  for (long waited_ns = 0;;) {
    if (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (done != 0) return true;
    waited_ns < moment_ns ? (void)::sched_yield() : (void)::nanosleep(&pause, nullptr);
    // Not what the pauses should have taken: where processors are scarce, they take several times as long.
    const auto now = std::chrono::steady_clock::now();
    waited_ns += static_cast<long>(std::min(now - before, longest_run).count());
    before = now;
    if (!shown && waited_ns >= shown_ns) {
      shown = true;
      waiting = client::show_waiting();
    }
    if (!told && static_cast<std::uint64_t>(waited_ns) / 1'000'000 >= late.after_ms) {
      told = true;
      late.act();
    }
    pause.tv_nsec = std::clamp(waited_ns / 64, usual_ns, longest_ns);
  }
}

MpiTeam::MpiTeam(MPI_Comm comm) : MpiTeam(comm, naming(comm), naming(comm)) {}

MpiTeam::MpiTeam(MPI_Comm comm, const Late& late) : MpiTeam(comm, {2 * late.after_ms, late.act}, late) {}

MpiTeam::MpiTeam(MPI_Comm comm, Late missing, Late late)
    : comm_(comm), missing_(std::move(missing)), late_(std::move(late)) {
  PMPI_Comm_rank(comm, &rank_);
  PMPI_Comm_size(comm, &size_);
}

bool MpiTeam::gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  const int each = static_cast<int>(mine.size());
  MPI_Request request;
  const int started =
      PMPI_Igather(mine.data(), each, MPI_BYTE, all.data(), each, MPI_BYTE, 0, comm_, &request);
  return wait_asleep(started, request, late_);
}

bool MpiTeam::tell(std::span<std::byte> bytes) {
  if (size_ == 1 || bytes.empty()) return true;
  MPI_Request request;
  const int started = PMPI_Ibcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, comm_, &request);
  return wait_asleep(started, request, missing_);
}

int MpiTeam::least(int mine) { return least_of(comm_, mine, missing_); }

int least_of(MPI_Comm comm, int mine, const Late& late) {
  int all = 0;
  MPI_Request request;
  const int started = PMPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm, &request);
  return wait_asleep(started, request, late) ? all : 0;
}

}  // namespace millrace::front
