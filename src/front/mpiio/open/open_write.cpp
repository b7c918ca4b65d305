// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/open/open_write.hpp"

#include <optional>
#include <string>
#include <utility>

#include "base/file_system.hpp"
#include "client/open/attendance.hpp"
#include "client/open/own_process.hpp"
#include "client/open/plan.hpp"
#include "client/start/job.hpp"
#include "front/device/door.hpp"
#include "front/mpiio/handles/handlers.hpp"
#include "front/mpiio/handles/table.hpp"
#include "front/mpiio/open/open_first.hpp"
#include "front/mpiio/open/open_read.hpp"
#include "front/mpiio/open/opening.hpp"
#include "front/mpiio/open/posix_side.hpp"
#include "front/mpiio/open/sieving.hpp"
#include "front/mpiio/ranks/coherence.hpp"
#include "front/mpiio/ranks/communicator.hpp"
#include "front/mpiio/ranks/exchange.hpp"
#include "front/mpiio/ranks/roll_call.hpp"

namespace millrace::front {
namespace {

using client::Apart;
using client::Through;

// True for errors that every rank finds in its arguments, before any communication.
bool argument_error(int error) {
  int value = MPI_ERR_UNKNOWN;
  PMPI_Error_class(error, &value);
  return value == MPI_ERR_COMM || value == MPI_ERR_ARG || value == MPI_ERR_AMODE || value == MPI_ERR_INFO ||
         value == MPI_ERR_NOT_SAME || value == MPI_ERR_FILE;
}

// The wishes of this rank. Ranks of several nodes never read alone, so none of them asks the file system for
// its type. One rank of each node starts the agent. That is not rank 0, which has more to do.
client::Wishes wishes_to_write(int rank, int size, const char* filename, int amode, MPI_Info info,
                               bool opened, bool admitted) {
  client::Wishes wishes = wishes_of(filename, info, opened, admitted);
  client::Words& words = wishes.words;
  if (words.refused == 0 && !reaches_agent(wishes.path)) words.refused = 1;
  if (words.refused != 0) return wishes;
  words.library_reads =
      client::spans_nodes(size) || !is_local_type(type_of_file_system(wishes.path.c_str())) ? 1 : 0;
  words.incoherent = may_be_incoherent(wishes.found) ? 1 : 0;
  words.factors = client::history().of(wishes.path).factors;
  wishes.reads = (amode & MPI_MODE_WRONLY) == 0;
  wishes.starts = client::is_last_of_node(size);
  wishes.world = ranks_of_world();
  // The other ranks wait for rank 0 at the agreement.
  if (rank == 0) wishes.named = client::secure_name(wishes.path, wishes.settings.file);
  return wishes;
}

// Adds the handle if the plan is ours.
client::Plan accelerate(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File handle,
                        bool opened, bool admitted) {
  ask_for_threads();
  MpiTeam team(comm);
  client::Wishes wishes = wishes_to_write(team.rank(), team.size(), filename, amode, info, opened, admitted);
  const std::string path = wishes.path;
  const FileSettings settings = wishes.settings.file;
  client::Plan plan = client::plan_write(team, client::own_place(), std::move(wishes));
  if (!plan.ours) return plan;
  std::unique_ptr<Open> open = open_of(handle, path, plan);
  open->nodes.bypassed = plan.apart != Apart::no;
  open->nodes.one = plan.one_node;
  open->nodes.routed = !plan.one_node && plan.apart == Apart::no;
  open->reads.alone = plan.reads_alone;
  const Sieving sieving = sieving_of(handle, path);
  open->library_sieves = sieving.by_library;
  if (open->nodes.bypassed)
    bypass_same_file(open->file->number(), client::why(Apart::left_before));
  else if (plan.one_node)
    open->sweep = {sieving.window, plan.costs.call_ps / plan.costs.swept_byte_ps};
  else
    set_nodes(*open, team, plan, client::may_join_late(open->file->settings()));
  const bool speaks = team.rank() == 0 && (!plan.one_node || client::is_first_of_node());
  if (open->nodes.bypassed && speaks) client::tell(plan.apart, path, settings);
  if ((amode & MPI_MODE_APPEND) == 0) open->pointer.start(0, true);
  add(std::move(open));
  return plan;
}

// Adds a handle that has no part in the pipeline.
void leave_alone(const char* filename, MPI_File handle) {
  const std::optional<std::string> path = kernel_path(filename);
  if (path && client::process_settings().enabled) add_guest(handle, *path);
}

// A new handle must find all earlier writes: a handle for reading does not ask the pipeline. This looks at
// the file, so all ranks have to be in the open: a rank may make the file just before its own call, and a
// network file system remembers for a while that there was none. False: the open has to fail on all ranks.
bool settle_others(const char* filename, int amode) {
  if (filename == nullptr) return true;
  try {
    const std::optional<std::string> path = kernel_path(filename);
    return !path || client::settle_ledgers(path->c_str(), (amode & MPI_MODE_RDONLY) == 0);
  } catch (...) {
    client::log(std::string(filename) +
                ": out of memory at open: reads may miss bytes that another handle has written");
  }
  return true;
}

bool opened_on_first(Entry entry, MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh,
                     int& result) {
  try {
    if (filename == nullptr || settings_of(info, filename).target != millrace::Target::first) return false;
    // The library's open tells what is wrong with a communicator.
    int between = 0;
    if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &between) != MPI_SUCCESS || between != 0)
      return false;
    const bool admitted = settle_others(filename, amode);
    return all_take_part(comm, Coming::apart) &&
           open_on_first(entry, comm, filename, amode, info, fh, admitted, result);
  } catch (...) {
    client::log(std::string(filename) + ": out of memory: the file was not opened");
    result = MPI_ERR_NO_MEM;
    return true;
  }
}

// Millrace's part before the library's open. True if the file is open, or refused, without the library.
bool opened_otherwise(Entry entry, MPI_Comm comm, const char* filename, int amode, MPI_Info info,
                      MPI_File* fh, int& result) {
  meet_posix_hooks();
  client::attend();
  // The library's open asks for the size with MPI_MODE_APPEND.
  if ((amode & MPI_MODE_APPEND) != 0) (void)settle_others(filename, amode);
  return opened_on_first(entry, comm, filename, amode, info, fh, result);
}

// Millrace's part after it. False: the file is closed again, because some rank must not open it.
bool share(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh, bool opened) {
  const Scope scope;
  const bool writes = (amode & (MPI_MODE_WRONLY | MPI_MODE_RDWR)) != 0;
  const int alone = MPI_MODE_SEQUENTIAL | (writes ? 0 : MPI_MODE_DELETE_ON_CLOSE);
  const MPI_File handle = opened ? *fh : MPI_FILE_NULL;
  try {
    client::Plan plan;
    const bool together = (amode & alone) == 0 && all_take_part(comm, Coming::together);
    const bool admitted = !opened || settle_others(filename, amode);
    if (together) {
      plan = writes ? accelerate(comm, filename, amode, info, handle, opened, admitted)
                    : begin_reading(comm, filename, info, handle, admitted);
    }
    if (opened && plan.blocked) {
      give_handler_back(handle);
      call<Slot::MPI_File_close>(Entry::pmpi, fh);
      return false;
    }
    if (opened && !plan.ours) leave_alone(filename, handle);
  } catch (...) {
    client::log("out of memory at open: the MPI library alone writes the file");
  }
  return true;
}

}  // namespace

// The library's open calls a handler of MPI_FILE_NULL, so it is outside of any Scope.
int own_open(Entry entry, MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh) {
  device::look();
  bool outermost = false;
  {
    const Scope scope;
    outermost = scope.outermost();
    int result = MPI_SUCCESS;
    if (outermost && opened_otherwise(entry, comm, filename, amode, info, fh, result)) {
      if (result == MPI_SUCCESS) keep_handler(*fh);
      return result;
    }
  }
  const int result = call<Slot::MPI_File_open>(entry, comm, filename, amode, info, fh);
  if (!outermost) return result;
  if (result == MPI_SUCCESS) keep_handler(*fh);
  if (result != MPI_SUCCESS && argument_error(result)) return result;
  return share(comm, filename, amode, info, fh, result == MPI_SUCCESS) ? result
                                                                       : refuse_open(MPI_ERR_FILE_IN_USE);
}

}  // namespace millrace::front
