// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/call/pending.hpp"

#include <algorithm>
#include <utility>

#include "client/file/agent_reads.hpp"
#include "front/mpiio/call/completion.hpp"
#include "front/mpiio/call/library.hpp"
#include "front/mpiio/handles/table.hpp"
#include "front/mpiio/types/datatype.hpp"

namespace millrace::front {

struct Pending {
  std::recursive_mutex
      lock;              // the library may call an error handler of the program, which may close the file
  Open* open = nullptr;  // nullptr: the read has ended
  client::FileView view;
  std::shared_ptr<const client::TypeMap> memory;
  std::unique_ptr<client::PendingRead> read;  // uses the two maps, which the program may free
  Arguments again{};                          // of the library's read, if the agents fail
  PendingResult result{};
};

namespace {

using Shared = std::shared_ptr<Pending>;

void forget(Open& open, const Pending& pending) {
  const std::lock_guard guard(open.begun.pending_lock);
  std::erase_if(open.begun.pending, [&pending](const Shared& one) { return one.get() == &pending; });
}

int query(void* state, MPI_Status* status) {
  const PendingResult result = end_pending(**static_cast<Shared*>(state));
  answer(status, result.bytes);
  return result.error;
}

// MPI_Request_free calls this without a question. The program then never learns when its memory has the
// bytes, so it has them now.
int release(void* state) {
  const std::unique_ptr<Shared> shared(static_cast<Shared*>(state));
  (void)end_pending(**shared);
  return MPI_SUCCESS;
}

int cancel(void*, int) { return MPI_SUCCESS; }  // the bytes are on their way

int make_request(const Shared& pending, MPI_Request* request) {
  auto state = std::make_unique<Shared>(pending);
  const int error = PMPI_Grequest_start(query, release, cancel, state.get(), request);
  if (error != MPI_SUCCESS) {
    (void)end_pending(*pending);
    return error;
  }
  (void)state.release();
  return PMPI_Grequest_complete(*request);
}

Shared prepare(const Call& call) {
  auto pending = std::make_shared<Pending>();
  pending->view = call.open.view.map;
  pending->memory = share_map(call.a.type);
  if (pending->memory.get() != call.memory) return nullptr;
  pending->result.bytes = static_cast<MPI_Count>(call.bytes);
  pending->again = call.a;
  pending->again.entry = Entry::pmpi;
  pending->again.map = nullptr;
  if (call.moves_pointer())
    pending->again.offset = static_cast<MPI_Offset>(call.position / call.open.view.map.etype_size());
  return pending;
}

// The library's read, in place of the agents'.
PendingResult read_again(const Arguments& a) {
  const Row row{Direction::read, Position::at, Coordination::independent, Completion::blocking};
  MPI_Status status;
  const int error = call_alone(row, a, &status);
  return {error == MPI_SUCCESS ? bytes_of(status) : 0, error};
}

}  // namespace

bool can_pend(const Call& call) {
  return call.open.first.location == Open::Location::everywhere &&
         call.row.completion != Completion::blocking;
}

int begin_pending(const Call& call) {
  Open& open = call.open;
  const Shared pending = prepare(call);
  if (pending == nullptr) return unread;
  {
    const std::lock_guard guard(open.begun.pending_lock);
    open.begun.pending.reserve(open.begun.pending.size() + 1);
  }
  // The program may free the datatype before the read ends.
  if (PMPI_Type_dup(call.a.type, &pending->again.type) != MPI_SUCCESS) return unread;
  const client::PieceSource source(pending->view, call.position, *pending->memory, call.a.memory,
                                   static_cast<std::uint64_t>(call.a.count));
  Result<std::unique_ptr<client::PendingRead>> read =
      open.file->agent_reads()->start(pending->view, call.position, source, call.hull.end);
  if (!read) {
    PMPI_Type_free(&pending->again.type);
    return unread;
  }
  pending->read = *std::move(read);
  pending->open = &open;
  {
    const std::lock_guard guard(open.begun.pending_lock);
    open.begun.pending.push_back(pending);
  }
  if (call.nonblocking()) return make_request(pending, call.a.request);
  (void)open.begun.change({.ours = true, .bytes = pending->result.bytes, .pending = pending});
  return MPI_SUCCESS;
}

PendingResult end_pending(Pending& pending) {
  const Scope scope;
  const std::lock_guard guard(pending.lock);
  if (pending.open == nullptr) return pending.result;
  const bool come = pending.read->finish().ok();
  pending.read.reset();
  forget(*std::exchange(pending.open, nullptr), pending);
  if (!come) pending.result = read_again(pending.again);
  PMPI_Type_free(&pending.again.type);
  return pending.result;
}

void end_all_pending(Open& open) {
  for (;;) {
    Shared last;
    {
      const std::lock_guard guard(open.begun.pending_lock);
      if (open.begun.pending.empty()) return;
      last = open.begun.pending.back();
    }
    (void)end_pending(*last);
  }
}

}  // namespace millrace::front
