// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/open/team.hpp"
#include "front/mpiio/mpi.hpp"
#include "front/mpiio/ranks/communicator.hpp"

// Collective exchanges of small messages.
namespace millrace::front {

// The time after which a wait for other ranks is long.
std::uint64_t long_wait_ms();

// "rank 3", "ranks 3, 5 and 7 others".
std::string list_of(const std::vector<int>& ranks);

// The waits for several messages of one exchange are one wait.
struct Waited {
  long ns = 0;
  bool told = false;  // Late::act has been called
};

// Ends a call that `started` says to be under way. The rank sleeps while it waits: the ranks that
// are late, and the agents, get the processors. With `late`, the other ranks of the node see after a second
// that this one waits. False: an MPI error.
bool wait_asleep(int started, MPI_Request& request, const Late& late, Waited& waited);

// The ranks of a communicator in MPI_File_open. A rank sleeps while it waits. After long_wait_ms(), the first
// waiting rank of each node names the ranks of its node that do not wait; `late` takes the place of that.
class MpiTeam final : public client::Team {
 public:
  explicit MpiTeam(MPI_Comm comm);
  MpiTeam(MPI_Comm comm, Late late);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  bool connected() const override { return ranks_ != nullptr; }
  bool send(int to, std::span<const std::byte> message) override;
  bool receive(int from, const Room& room) override;
  bool most(std::span<std::uint64_t> words) override;
  // Millrace's communicator of these ranks, for messages: one on the program's communicator could meet a
  // receive of the program. null: it cannot be made. The first call is collective.
  const std::shared_ptr<const Ranks>& ranks();

 private:
  MPI_Comm comm_;
  const Late late_;
  Waited waited_;
  int rank_ = 0, size_ = 1;
  std::shared_ptr<const Ranks> ranks_;
};

// True if `mine` is true on every rank of the communicator. Collective.
bool all_of(MPI_Comm comm, bool mine);

}  // namespace millrace::front
