// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/open/open_read.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "client/open/own_process.hpp"
#include "client/open/plan.hpp"
#include "client/start/job.hpp"
#include "front/mpiio/handles/table.hpp"
#include "front/mpiio/open/opening.hpp"
#include "front/mpiio/ranks/exchange.hpp"

namespace millrace::front {
namespace {

using client::Through;

void close_copy(Reader& reader) {
  if (reader.copy != MPI_FILE_NULL) PMPI_File_close(&reader.copy);
  reader.copy = MPI_FILE_NULL;
}

bool handle_of_copy(int fd, MPI_File& copy) {
  // A failure here must not reach the program, because its error handler may end the job.
  MPI_Errhandler handler;
  const bool kept = PMPI_File_get_errhandler(MPI_FILE_NULL, &handler) == MPI_SUCCESS;
  PMPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  const std::string name = "/proc/self/fd/" + std::to_string(fd);  // the copy has no other name any more
  const bool opened =
      PMPI_File_open(MPI_COMM_SELF, name.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &copy) == MPI_SUCCESS;
  if (!opened) copy = MPI_FILE_NULL;
  if (kept) {
    PMPI_File_set_errhandler(MPI_FILE_NULL, handler);
    PMPI_Errhandler_free(&handler);
  }
  return opened;
}

}  // namespace

std::function<bool(client::Company&, const client::StagePlan&)> copying(client::Team& team, Reader& reader) {
  return [&team, &reader](client::Company& company, const client::StagePlan& plan) {
    std::optional<client::StagedCopy> copy = client::stage_whole(team, client::own_place(), company, plan);
    if (!copy) return false;
    reader.staged = *std::move(copy);
    if (team.least(handle_of_copy(reader.staged.fd.get(), reader.copy) ? 1 : 0) == 1) return true;
    close_copy(reader);
    return false;
  };
}

client::Plan begin_reading(MPI_Comm comm, const char* filename, MPI_Info info, MPI_File handle,
                           bool admitted) {
  ask_for_threads();
  MpiTeam team(comm);
  client::Wishes wishes = wishes_of(filename, info, handle != MPI_FILE_NULL, admitted);
  wishes.leads = client::leads_node(team.size());
  if (wishes.words.refused == 0) wishes.share = client::history().of(wishes.path).share;
  const std::string path = wishes.path;
  auto reader = std::make_unique<Reader>();
  wishes.copy = copying(team, *reader);
  client::Plan plan = client::plan_read(team, client::own_place(), std::move(wishes));
  if (!plan.ours) return plan;
  std::unique_ptr<Open> open = open_of(handle, path, plan);
  if (plan.through != Through::none) set_nodes(*open, team, plan, true);
  if (plan.one_node || plan.through != Through::none) {
    open->writable = false;
    open->reads.alone = true;
    open->pointer.start(0, true);
  } else {
    if (!plan.copied) reader->staged.original.size = plan.bytes;
    reader->staged.fd.reset();
    open->reads.reader = std::move(reader);
  }
  add(std::move(open));
  return plan;
}

bool agents_carry(Open& open) {
  std::call_once(open.reads.tried, [&open] {
    if (open.reads.untried != nullptr && !client::try_meeting(client::own_place(), *open.reads.untried))
      open.reads.through = Through::none;
    open.reads.untried.reset();
  });
  return open.reads.through != Through::none;
}

void look_again(Open& open) {
  if (!open.has_copy() || open.first.location != Open::Location::everywhere) return;
  Reader& reader = *open.reads.reader;
  if (all_ranks(open, !reader.left && client::stamp_of(open.path) == reader.staged.original)) return;
  leave_copy(open);
  close_copy(reader);
  (void)open.file->set_direct({client::Reason::read_by_each_node});
}

void end_reading(Open& open) {
  if (open.reads.until_written && !open.writable)
    client::history().read(open.path, open.reads.bytes.load(), open.reads.size_at_open);
  if (open.reads.reader == nullptr) return;
  client::history().read(open.path, open.reads.bytes.load(), open.reads.reader->staged.original.size);
  close_copy(*open.reads.reader);
}

}  // namespace millrace::front
