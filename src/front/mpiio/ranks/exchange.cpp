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

// Asks test(done) until it sets `done`. False: an MPI error.
template <class Test>
bool sleep_until(Test test, const Late& late, Waited& waited) {
  // Ranks that come together need a moment, in which each step of an exchange waits for the one before. A
  // long wait has long pauses: ranks that look often take processor time from the agents.
  constexpr long moment_ns = 3'000'000, usual_ns = 250'000, longest_ns = 1'000'000;
  constexpr long shown_ns = 1'000'000'000;
  // In a longer pause the process was stopped.
  constexpr std::chrono::nanoseconds longest_run = std::chrono::milliseconds(100);
  int done = 0;
  timespec pause{0, usual_ns};
  bool shown = !late.act;
  Fd waiting;
  long& waited_ns = waited.ns;
  auto before = std::chrono::steady_clock::now();
  for (;;) {
    if (test(done) != MPI_SUCCESS) return false;
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
    if (!waited.told && static_cast<std::uint64_t>(waited_ns) / 1'000'000 >= late.after_ms) {
      waited.told = true;
      late.act();
    }
    pause.tv_nsec = std::clamp(waited_ns / 64, usual_ns, longest_ns);
  }
}

// MPICH 4.0 compares MPI_UINT64_T as signed numbers, so the words have the order of signed ones meanwhile.
bool most_of(MPI_Comm comm, std::span<std::uint64_t> words, const Late& late) {
  const auto turn = [&words] {
    for (std::uint64_t& word : words) word ^= std::uint64_t{1} << 63;
  };
  MPI_Request request;
  Waited waited;
  turn();
  const int started = PMPI_Iallreduce(MPI_IN_PLACE, words.data(), static_cast<int>(words.size()), MPI_INT64_T,
                                      MPI_MAX, comm, &request);
  const bool done = wait_asleep(started, request, late, waited);
  turn();
  return done;
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

bool wait_asleep(int started, MPI_Request& request, const Late& late, Waited& waited) {
  const auto test = [&request](int& done) { return PMPI_Test(&request, &done, MPI_STATUS_IGNORE); };
  return started == MPI_SUCCESS && sleep_until(test, late, waited);
}

MpiTeam::MpiTeam(MPI_Comm comm) : MpiTeam(comm, naming(comm)) {}

MpiTeam::MpiTeam(MPI_Comm comm, Late late) : comm_(comm), late_(std::move(late)), ranks_(known_ranks(comm)) {
  PMPI_Comm_rank(comm, &rank_);
  PMPI_Comm_size(comm, &size_);
}

const std::shared_ptr<const Ranks>& MpiTeam::ranks() {
  if (ranks_ == nullptr) ranks_ = ranks_of(comm_, late_);
  return ranks_;
}

bool MpiTeam::send(int to, std::span<const std::byte> message) {
  if (ranks() == nullptr) return false;
  MPI_Request request;
  const int started =
      PMPI_Isend(message.data(), static_cast<int>(message.size()), MPI_BYTE, to, 0, ranks_->comm, &request);
  return wait_asleep(started, request, late_, waited_);
}

// The receiver does not know how long the list of another rank is.
bool MpiTeam::receive(int from, const Room& room) {
  if (ranks() == nullptr) return false;
  if (from <= rank_ + 1) waited_ = {};  // the first message of several that go up, or the one that comes down
  MPI_Status status;
  MPI_Request request;
  int bytes = 0;
  const auto test = [&](int& done) { return PMPI_Iprobe(from, 0, ranks_->comm, &done, &status); };
  if (!sleep_until(test, late_, waited_) || PMPI_Get_count(&status, MPI_BYTE, &bytes) != MPI_SUCCESS)
    return false;
  const std::span<std::byte> place = room(static_cast<std::size_t>(bytes));
  const int started =
      PMPI_Irecv(place.data(), static_cast<int>(place.size()), MPI_BYTE, from, 0, ranks_->comm, &request);
  return wait_asleep(started, request, late_, waited_);
}

bool MpiTeam::most(std::span<std::uint64_t> words) { return most_of(comm_, words, late_); }

bool all_of(MPI_Comm comm, bool mine) {
  std::uint64_t missing = mine ? 0 : 1;
  return most_of(comm, {&missing, 1}, {}) && missing == 0;
}

}  // namespace millrace::front
