// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/open/open_first.hpp"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>

#include "base/checksum.hpp"
#include "client/file/agent_reads.hpp"
#include "client/file/target_file.hpp"
#include "client/open/own_process.hpp"
#include "front/mpiio/handles/table.hpp"
#include "front/mpiio/open/node_copy.hpp"
#include "front/mpiio/open/open_read.hpp"
#include "front/mpiio/open/opening.hpp"
#include "front/mpiio/ranks/exchange.hpp"
#include "front/mpiio/types/datatype.hpp"

namespace millrace::front {
namespace {

// The agreement of all ranks of an open, by one reduction with MPI_MAX.
struct FirstAgreement {
  Participants participants;
  std::uint64_t size;      // as rank 0 sees it
  std::uint64_t there;     // rank 0 sees the file
  std::uint64_t whole;     // rank 0 wants the file staged, if it is only read
  std::uint64_t pieces;    // ... or read through the agents
  std::uint64_t ledger;    // some rank wants a ledger
  std::uint64_t writable;  // some rank has the file open for writing, so a copy would lack what it writes
  std::uint64_t alone;     // some rank has written it by a handle without the ranks of other nodes
  std::uint64_t file;      // a number of the file that the rank sees by this path; 0: none
  std::uint64_t other;     // the complement of `file`, so that the two tell whether all ranks see one file
  std::uint64_t amode;
  std::uint64_t unlike;  // the complement of `amode`

  bool one_file() const { return file != 0 && other == ~file; }
  bool one_amode() const { return unlike == ~amode; }
};

std::string name_of(const Fd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

struct Opening {
  Entry entry;
  MPI_Comm comm;
  int amode;
  MPI_Info info;
  MPI_File* fh;
  StagePlan plan;
  bool maker;    // rank 0
  bool through;  // the agents carry reads of a file that is only read
  bool alone;    // FirstAgreement
};

int read_first(const Opening& how) {
  std::optional<StagedCopy> copy = stage_whole(how.comm, how.plan);
  if (!copy) return refuse_open(MPI_ERR_IO);
  const int result =
      call<Slot::MPI_File_open>(how.entry, how.comm, name_of(copy->fd).c_str(), how.amode, how.info, how.fh);
  if (!all_of(how.comm, result == MPI_SUCCESS))
    return result != MPI_SUCCESS ? result : refuse_open(MPI_ERR_IO);
  auto open = std::make_unique<Open>();
  open->first.location = Open::Location::here;
  open->reads.reader = std::make_unique<Reader>();
  if (!all_of(how.comm, open_for_this_rank(*copy, *open->reads.reader))) close_copy(*open->reads.reader);
  open->handle = *how.fh;
  open->path = how.plan.path;
  open->nodes.group = how.plan.group;
  open->file = client::open({.path = open->path,
                             .group = open->nodes.group,
                             .settings = how.plan.settings.file,
                             .writable = false});
  (void)open->file->set_direct({client::Reason::copy_on_node});
  add(std::move(open));
  return MPI_SUCCESS;
}

std::uint64_t number_of_file(const std::string& path, const Settings& settings) {
  client::TargetFile found;
  (void)found.remember(path);
  const client::Peer self = client::describe_self(found, settings, false, false);
  if (self.inode == 0) return 0;
  const std::array<std::uint64_t, 2> numbers{self.inode, self.own_system};
  return checksum(numbers.data(), sizeof numbers) | 1u;
}

int class_of(int error) {
  switch (error) {
    case 0:
      return MPI_SUCCESS;
    case EEXIST:
      return MPI_ERR_FILE_EXISTS;
    case EACCES:
    case EPERM:
      return MPI_ERR_ACCESS;
    case ENOENT:
      return MPI_ERR_NO_SUCH_FILE;
    case EROFS:
      return MPI_ERR_READ_ONLY;
    case ENOSPC:
      return MPI_ERR_NO_SPACE;
    case EDQUOT:
      return MPI_ERR_QUOTA;
    case EISDIR:
    case ENAMETOOLONG:
      return MPI_ERR_BAD_FILE;
    default:
      return MPI_ERR_IO;
  }
}

// Rank 0 opens the file, and creates it if the amode asks for that. Then the other ranks of its node open it.
// Returns the class of the first error, on all ranks alike.
int open_target(const Opening& how, bool here, Fd& fd) {
  int rank = 0;
  PMPI_Comm_rank(how.comm, &rank);
  const int access = (how.amode & MPI_MODE_RDONLY) != 0   ? O_RDONLY
                     : (how.amode & MPI_MODE_WRONLY) != 0 ? O_WRONLY
                                                          : O_RDWR;
  const int made =
      ((how.amode & MPI_MODE_CREATE) != 0 ? O_CREAT : 0) | ((how.amode & MPI_MODE_EXCL) != 0 ? O_EXCL : 0);
  for (const bool first : {true, false}) {
    int error = 0, all = 0;
    if (here && first == (rank == 0)) {
      Result<Fd> target = client::open_target(how.plan.path, access | (first ? made : 0));
      if (target) {
        fd = *std::move(target);
        const Status named = first && access != O_RDONLY
                                 ? client::secure_name(how.plan.path, how.plan.settings.file)
                                 : Status();
        if (!named.ok()) error = class_of(named.error());
      } else {
        error = class_of(target.status().error());
      }
    }
    if (PMPI_Allreduce(&error, &all, 1, MPI_INT, MPI_MAX, how.comm) != MPI_SUCCESS) return MPI_ERR_IO;
    if (all != MPI_SUCCESS) return all;
  }
  return MPI_SUCCESS;
}

// All ranks open a name in /proc/self/fd, for stand-ins and the file alike. Open MPI looks at the files
// beside a file to choose its way of writing, and all ranks have to make the same choice.
int open_in_place(const Opening& how) {
  std::optional<StandIn> stands = stand_in(how.comm, how.plan);
  if (!stands) return refuse_open(MPI_ERR_IO);
  if (const int error = open_target(how, stands->here, stands->fd); error != MPI_SUCCESS)
    return refuse_open(error);
  const int ours = MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_APPEND;
  const int amode = how.amode & ~ours;
  const std::string name = name_of(stands->fd);
  const int result = call<Slot::MPI_File_open>(how.entry, how.comm, name.c_str(), amode, how.info, how.fh);
  if (!all_of(how.comm, result == MPI_SUCCESS))
    return result != MPI_SUCCESS ? result : refuse_open(MPI_ERR_IO);
  auto open = std::make_unique<Open>();
  open->first.location = stands->here ? Open::Location::here : Open::Location::elsewhere;
  open->handle = *how.fh;
  open->path = how.plan.path;
  open->first.name = std::filesystem::absolute(how.plan.path).lexically_normal();
  open->nodes.group = how.plan.group;
  open->nodes.routed = true;
  open->nodes.meets_at_close = (how.amode & MPI_MODE_RDONLY) != 0;
  open->view.map = client::FileView(0, 1, share_map(MPI_BYTE));
  open->first.maker = how.maker;
  open->first.delete_on_close = how.maker && (how.amode & MPI_MODE_DELETE_ON_CLOSE) != 0;
  open->writable = (how.amode & MPI_MODE_RDONLY) == 0;
  client::OpenRequest request{.path = open->path,
                              .stand_in = stands->here ? "" : name,
                              .group = open->nodes.group,
                              .members = stands->members,
                              .settings = stands->settings,
                              .writable = open->writable,
                              .routing = stands->routing,
                              .through = !open->writable};
  if (!open->writable && !stands->here && how.through) {
    request.file_bytes = how.plan.size;
    open->reads.through = client::Through::all;
  }
  open->file = client::open(std::move(request));
  open->first.stand_in = std::move(stands->fd);
  if (!all_of(how.comm, open->file->registered())) {
    client::log(open->path + " cannot be reached from every node, and was not opened: " +
                (how.alone
                     ? "a rank has it open by another handle, without ranks of other nodes (MPI_COMM_SELF), "
                       "and has written to it; close that handle first"
                     : "an agent refused the file"));
    open->file->withdraw();
    PMPI_File_close(how.fh);
    return refuse_open(MPI_ERR_IO);
  }
  const bool appends = (how.amode & MPI_MODE_APPEND) != 0;
  open->pointer.start(appends ? static_cast<MPI_Offset>(how.plan.size) : 0, false);
  add(std::move(open));
  return MPI_SUCCESS;
}

}  // namespace

bool target_is_first(const char* filename, MPI_Info info) {
  if (filename == nullptr) return false;
  if (info == MPI_INFO_NULL) return client::process_settings().target == millrace::Target::first;
  return settings_of(info, filename).target == millrace::Target::first;
}

bool open_on_first(Entry entry, MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh,
                   const Admission& admission, int& result) {
  int rank = 0, size = 1;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  if (size == 1) return false;
  ask_for_threads();
  const Settings settings = settings_of(info, filename);
  const std::optional<std::string> path = kernel_path(filename);
  const int access = amode & (MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR);
  const bool sound = access == MPI_MODE_WRONLY || access == MPI_MODE_RDWR ||
                     (access == MPI_MODE_RDONLY && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) == 0);
  const bool wanted = admission.here && sound && path && settings.enabled && joins_nodes(settings) &&
                      path_selected(settings, *path) && (amode & MPI_MODE_SEQUENTIAL) == 0;
  client::TargetFile found;
  if (wanted) (void)found.number_of(*path);
  const Handles others = wanted ? handles_of(*path, found.number()) : Handles{};
  const std::uint64_t file = wanted ? number_of_file(*path, settings) : 0;
  const client::FileStamp stamp = wanted && rank == 0 ? client::stamp_of(*path) : client::FileStamp{};
  const FirstAgreement mine{
      own_participants(rank, wanted),
      stamp.size,
      stamp.inode != 0 ? 1u : 0u,
      rank == 0 && settings.stage != Stage::none && settings.stage != Stage::pieces ? 1u : 0u,
      rank == 0 && settings.stage == Stage::pieces ? 1u : 0u,
      keeps_ledger(settings.file) ? 1u : 0u,
      others.writable ? 1u : 0u,
      others.plain && !others.routed ? 1u : 0u,
      file,
      ~file,
      static_cast<std::uint64_t>(amode),
      ~static_cast<std::uint64_t>(amode)};
  FirstAgreement all{};
  if (!all_at_most(comm, mine, all) || all.participants.refused != 0 || all.participants.on_one_node())
    return false;
  // The agents of several nodes cannot take over a file that an agent already has for its own ranks. All
  // ranks see this file by its path, so it is opened like any other.
  if (all.alone != 0 && all.one_file()) return false;
  const Opening how{entry,
                    comm,
                    amode,
                    info,
                    fh,
                    {*path, settings, all.participants.group, 0, 0, true, all.size},
                    rank == 0,
                    all.pieces != 0,
                    all.alone != 0};
  if (!all.one_amode()) {
    result = refuse_open(MPI_ERR_NOT_SAME);
  } else if (access != MPI_MODE_RDONLY && all.ledger != 0) {
    // A ledger of another node could not be recovered: that node does not see the file.
    if (rank == 0)
      client::log(
          *path +
          " was not opened: with target=first, durability node and strategy journal are not possible if the "
          "ranks are on several nodes, because the other nodes cannot recover their journals; choose "
          "durability disk and strategy sort");
    (void)all_of(comm, true);  // otherwise another rank could end the job before the line is out
    result = refuse_open(MPI_ERR_UNSUPPORTED_OPERATION);
  } else if (access == MPI_MODE_RDONLY && all.there == 0) {
    result = refuse_open(MPI_ERR_NO_SUCH_FILE);
  } else {
    const bool copied = access == MPI_MODE_RDONLY && all.whole != 0 && all.writable == 0;
    result = copied ? read_first(how) : open_in_place(how);
  }
  return true;
}

Status settle_size(Open& open) {
  if (open.first.location != Open::Location::elsewhere) return open.file->flush(Before::size);
  const Result<std::uint64_t> size = open.file->agent_reads()->size_on_server();
  return size ? client::resize(open.first.stand_in.get(), *size) : size.status();
}

int resize_first(Open& open, MPI_Offset bytes, bool cut) {
  Status status = open.file->flush(Before::others_read);
  (void)all_ranks(open, true);
  if (open.first.maker && status.ok()) {
    const auto size = static_cast<std::uint64_t>(bytes);
    status = cut ? client::resize(open.first.stand_in.get(), size)
                 : client::reserve(open.first.stand_in.get(), size);
  }
  const bool all = all_ranks(open, status.ok());
  if (all) return MPI_SUCCESS;
  return raise(open, status.ok() ? Status(Code::io) : status);
}

int not_on_first(const Open& open, const char* what) {
  client::log(open.path + ": " + what + " is not possible on a file with target=first; the call did nothing");
  return raise_class(open, MPI_ERR_UNSUPPORTED_OPERATION);
}

}  // namespace millrace::front
