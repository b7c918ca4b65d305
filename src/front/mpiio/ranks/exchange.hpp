// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "client/open/team.hpp"
#include "front/mpiio/mpi.hpp"

// Collective exchanges of small messages.
namespace millrace::front {

// A long wait calls this function once, after this time in which the process ran.
struct Late {
  std::uint64_t after_ms = UINT64_MAX;
  std::function<void()> act;
};

// The time after which a wait for other ranks is long.
std::uint64_t long_wait_ms();

// "rank 3", "ranks 3, 5 and 7 others".
std::string list_of(const std::vector<int>& ranks);

// Ends a collective call that `started` says to be under way. The rank sleeps while it waits: the ranks that
// are late, and the agents, get the processors. With `late`, the other ranks of the node see after a second
// that this one waits. False: an MPI error.
bool wait_asleep(int started, MPI_Request& request, const Late& late = {});

// The ranks of a communicator in MPI_File_open. A rank sleeps while it waits. After long_wait_ms(), the first
// waiting rank of each node names the ranks of its node that do not wait. `late` takes the place of that:
// in gather() after its time, in the other exchanges after twice that time, because rank 0 gathers meanwhile.
class MpiTeam final : public client::Team {
 public:
  explicit MpiTeam(MPI_Comm comm);
  MpiTeam(MPI_Comm comm, const Late& late);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  bool gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  bool tell(std::span<std::byte> bytes) override;
  int least(int mine) override;

 private:
  MpiTeam(MPI_Comm comm, Late missing, Late late);

  MPI_Comm comm_;
  const Late missing_, late_;
  int rank_ = 0, size_ = 1;
};

// The least of all ranks' values, which are not negative; 0 after an MPI error. Collective.
int least_of(MPI_Comm comm, int mine, const Late& late = {});
// True if `mine` is true on every rank of the communicator. Collective.
inline bool all_of(MPI_Comm comm, bool mine) { return least_of(comm, mine ? 1 : 0) == 1; }

}  // namespace millrace::front
