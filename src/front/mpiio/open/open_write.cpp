// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/open/open_write.hpp"

#include <optional>
#include <string>

#include "client/file/storage_host.hpp"
#include "client/open/attendance.hpp"
#include "client/open/own_process.hpp"
#include "client/start/job.hpp"
#include "front/device/door.hpp"
#include "front/mpiio/handles/handlers.hpp"
#include "front/mpiio/handles/table.hpp"
#include "front/mpiio/open/introduction.hpp"
#include "front/mpiio/open/open_first.hpp"
#include "front/mpiio/open/open_read.hpp"
#include "front/mpiio/open/opening.hpp"
#include "front/mpiio/open/posix_side.hpp"
#include "front/mpiio/open/sieving.hpp"
#include "front/mpiio/open/through.hpp"
#include "front/mpiio/ranks/coherence.hpp"
#include "front/mpiio/ranks/communicator.hpp"
#include "front/mpiio/ranks/exchange.hpp"
#include "front/mpiio/ranks/participants.hpp"
#include "front/mpiio/ranks/roll_call.hpp"
#include "front/mpiio/types/datatype.hpp"

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

// A rank may register the file of several nodes late, at its first write that takes the pipeline. Until then
// it asks for pending bytes as a guest. A ledger knows the bytes of registered ranks only.
bool may_join_late(const FileSettings& settings) {
  return settings.strategy == Strategy::automatic && !keeps_ledger(settings);
}

// Whether a node's agent is ready for the file, as the node's first rank finds.
enum Ready : int { unreachable, refused, ready };

// The last step of an open: only the agents' answers are missing. Sets `apart` if some node's agent refuses
// the file, or cannot reach another node.
std::unique_ptr<client::File> open_everywhere(MPI_Comm comm, client::OpenRequest request,
                                              const client::Meeting& meeting, Apart& apart) {
  const bool across = request.routing.lanes > 0;
  request.left = client::why(meeting.reaches ? apart : Apart::unreachable);
  request.late = across && !meeting.first_of_node && may_join_late(request.settings);
  client::OpenRequest again{.path = request.path,
                            .group = request.group,
                            .members = request.members,
                            .settings = request.settings,
                            .costs = request.costs,
                            .file_system = request.file_system};
  const bool late = request.late;
  std::unique_ptr<client::File> file = client::open(std::move(request));
  if (!across) return file;
  const Ready own = !meeting.reaches ? unreachable : late || file->registered() ? ready : refused;
  const int all = least_of(comm, own);
  if (!meeting.known) client::remember_meeting(meeting, all != unreachable);
  // Now each agent knows the file, so the agents may call each other.
  if (all == ready) return file;
  file->withdraw();  // an agent of another node lacks the file; no rank has written yet
  apart = all == refused ? Apart::refused : Apart::unreachable;
  again.left = client::why(apart);
  return client::open(std::move(again));
}

// Completes a file that several nodes have open.
void set_routed(Open& open, MPI_Comm comm, bool first_of_node, Through carried) {
  open.nodes.routed = true;
  open.nodes.ranks = ranks_of(comm);
  open.nodes.looks_again = first_of_node;
  open.nodes.meets_at_close = may_join_late(open.file->settings());
  open.reads.until_written = carried != Through::none;
  open.reads.through = carried;
  open.reads.alone = open.reads.until_written;
}

std::unique_ptr<Open> new_open(MPI_File handle, const std::string& path, const Agreement& all) {
  auto open = std::make_unique<Open>();
  open->handle = handle;
  open->path = path;
  open->nodes.group = all.participants.group;
  open->view.map = client::FileView(0, 1, share_map(MPI_BYTE));
  return open;
}

// False: the handle is left to the MPI library.
bool accelerate(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File handle, bool opened,
                Admission& admission) {
  ask_for_threads();
  const Settings settings = settings_of(info, filename);
  const std::string path = kernel_path(filename).value_or("");
  const bool wanted = admission.here && opened && !path.empty() && settings.enabled &&
                      path_selected(settings, path) && reaches_agent(path);
  const Handles others = wanted ? handles_of(path) : Handles{};
  int rank = 0;
  if (PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS) return false;
  client::TargetFile found;
  if (wanted) (void)found.remember(path);
  Status named;
  Introductions heard;
  if (wanted && rank == 0) {
    named = client::secure_name(path, settings.file);  // the other ranks wait for rank 0 at the agreement
    heard.word = client::decide(found, settings, client::storage_host(found));
    heard.word.costs = client::costs_of(found);
    if ((amode & MPI_MODE_RDWR) != 0) heard.word.through = through_until_written(found, settings);
  }
  const Introduction mine = introduction_of(comm, rank, path, settings, wanted, found, others, admission);
  MpiTeam team(comm);
  const bool all_want = introduce(team, mine, heard);
  admission.hear(heard.words.participants);
  if (!all_want || !opened) return false;
  if (rank == 0) client::learn_costs(heard.remarks);
  const Agreement& all = heard.words;
  const client::Decision& decision = heard.word;
  const auto members = static_cast<std::uint32_t>(heard.company.on_one_node() ? team.size() : 0);
  client::Meeting meeting{{}, members, settings.file, false};
  Apart apart = all.bypassed != 0                                  ? Apart::left_before
                : all.incoherent != 0 && others_may_write(members) ? Apart::incoherent
                                                                   : Apart::no;
  if (apart == Apart::no && members == 0)
    apart = client::plan_meeting(team, heard.company, decision, false, meeting);
  if (apart != Apart::no) meeting.routing = {};
  const bool carries = members == 0 && all.written == 0;
  const Through carried = carries ? decision.through : Through::none;
  std::unique_ptr<Open> open = new_open(handle, path, all);
  open->file = open_everywhere(comm,
                               {.path = path,
                                .group = all.participants.group,
                                .members = meeting.members,
                                .settings = meeting.settings,
                                .costs = decision.costs.costs,
                                .file_system = decision.costs.file_system,
                                .routing = meeting.routing,
                                .through = carried != Through::none,
                                .found = std::move(found),
                                .named = named,
                                .leaves_small = true},
                               meeting, apart);
  open->nodes.bypassed = apart != Apart::no;
  open->nodes.one = members != 0;
  if (members != 0 && !open->nodes.bypassed) {
    const client::Costs& costs = decision.costs.costs;
    open->sweep = {sieve_bytes(handle, path), costs.call_ps / costs.swept_byte_ps};
  }
  open->reads.alone = members != 0 && all.library_reads == 0 && (amode & MPI_MODE_WRONLY) == 0;
  if (members == 0 && !open->nodes.bypassed) set_routed(*open, comm, meeting.first_of_node, carried);
  if (open->nodes.bypassed) bypass_same_file(path, client::why(Apart::left_before));
  const bool speaks = rank == 0 && (members == 0 || client::is_first_of_node());
  if (open->nodes.bypassed && speaks) client::tell(apart, path, settings.file);
  if ((amode & MPI_MODE_APPEND) == 0) open->pointer.start(0, true);
  add(std::move(open));
  return true;
}

// Adds a handle that has no part in the pipeline.
void leave_alone(const char* filename, MPI_File handle) {
  const std::optional<std::string> path = kernel_path(filename);
  if (path && client::process_settings().enabled) add_guest(handle, *path);
}

// A new handle must find all earlier writes: a handle for reading does not ask the pipeline. This looks at
// the file, so all ranks have to be in the open: a rank may make the file just before its own call, and a
// network file system remembers for a while that there was none.
Admission settle_others(const char* filename, int amode) {
  Admission admission;
  if (filename == nullptr) return admission;
  try {
    const std::optional<std::string> path = kernel_path(filename);
    if (path) admission.here = client::settle_ledgers(path->c_str(), (amode & MPI_MODE_RDONLY) == 0);
  } catch (...) {
    client::log(std::string(filename) +
                ": out of memory at open: reads may miss bytes that another handle has written");
  }
  return admission;
}

bool opened_on_first(Entry entry, MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh,
                     int& result) {
  try {
    if (!target_is_first(filename, info)) return false;
    // The library's open tells what is wrong with a communicator.
    int between = 0;
    if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &between) != MPI_SUCCESS || between != 0)
      return false;
    const Admission admission = settle_others(filename, amode);
    return all_take_part(comm, Before::nothing) &&
           open_on_first(entry, comm, filename, amode, info, fh, admission, result);
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
    bool ours = false;
    const bool together = (amode & alone) == 0 && all_take_part(comm, Before::all_have_met);
    Admission admission = opened ? settle_others(filename, amode) : Admission{};
    if (together) {
      ours = writes ? accelerate(comm, filename, amode, info, handle, opened, admission)
                    : begin_reading(comm, filename, info, handle, admission);
    }
    if (opened && !admission.everywhere) {
      give_handler_back(handle);
      call<Slot::MPI_File_close>(Entry::pmpi, fh);
      return false;
    }
    if (opened && !ours) leave_alone(filename, handle);
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
