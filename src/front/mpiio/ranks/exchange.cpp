// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/ranks/exchange.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

namespace millrace::front {

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

MpiTeam::MpiTeam(MPI_Comm comm, Late late) : comm_(comm), late_(std::move(late)) {
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
  return wait_asleep(started, request);
}

bool MpiTeam::deal(std::span<const std::byte> all, std::span<std::byte> mine) {
  const int each = static_cast<int>(mine.size());
  MPI_Request request;
  const int started =
      PMPI_Iscatter(all.data(), each, MPI_BYTE, mine.data(), each, MPI_BYTE, 0, comm_, &request);
  return wait_asleep(started, request);
}

int MpiTeam::least(int mine) { return least_of(comm_, mine); }

int least_of(MPI_Comm comm, int mine) {
  int all = 0;
  MPI_Request request;
  const int started = PMPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm, &request);
  return wait_asleep(started, request) ? all : 0;
}

}  // namespace millrace::front
