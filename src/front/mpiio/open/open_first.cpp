// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/open/open_first.hpp"

#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "client/file/agent_reads.hpp"
#include "client/open/own_process.hpp"
#include "client/open/plan.hpp"
#include "client/open/stage.hpp"
#include "front/mpiio/handles/table.hpp"
#include "front/mpiio/open/open_read.hpp"
#include "front/mpiio/open/opening.hpp"
#include "front/mpiio/ranks/exchange.hpp"

namespace millrace::front {
namespace {

int class_of(int error) {
  switch (error) {
    case EINVAL:
      return MPI_ERR_NOT_SAME;
    case EEXIST:
      return MPI_ERR_FILE_EXISTS;
    case EISDIR:
    case ENAMETOOLONG:
      return MPI_ERR_BAD_FILE;
    default:
      return error_class(Status::from_errno(error).code());
  }
}

int mode_of(int amode) {
  const int access = (amode & MPI_MODE_RDONLY) != 0   ? O_RDONLY
                     : (amode & MPI_MODE_WRONLY) != 0 ? O_WRONLY
                                                      : O_RDWR;
  return access | ((amode & MPI_MODE_CREATE) != 0 ? O_CREAT : 0) |
         ((amode & MPI_MODE_EXCL) != 0 ? O_EXCL : 0);
}

bool is_sound(int amode) {
  const int access = amode & (MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR);
  return (amode & MPI_MODE_SEQUENTIAL) == 0 &&
         (access == MPI_MODE_WRONLY || access == MPI_MODE_RDWR ||
          (access == MPI_MODE_RDONLY && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) == 0));
}

}  // namespace

bool open_on_first(Entry entry, MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh,
                   bool admitted, int& result) {
  MpiTeam team(comm);
  if (team.size() == 1) return false;
  ask_for_threads();
  client::Wishes wishes = wishes_of(filename, info, is_sound(amode), admitted);
  wishes.mode = mode_of(amode);
  wishes.alike = static_cast<std::uint64_t>(amode);
  auto reader = std::make_unique<Reader>();
  wishes.copy = copying(team, *reader);
  const std::string path = wishes.path;
  client::Plan plan = client::plan_first(team, client::own_place(), std::move(wishes));
  if (!plan.ours) return false;
  result = plan.error != 0 ? class_of(plan.error) : MPI_SUCCESS;
  if (result != MPI_SUCCESS) {
    (void)refuse_open(result);
    return true;
  }
  // All ranks open a name in /proc/self/fd, for stand-ins and the file alike. Open MPI looks at the files
  // beside a file to choose its way of writing, and all ranks have to make the same choice.
  const Fd& file = plan.copied ? reader->staged.fd : plan.opened;
  const std::string name = "/proc/self/fd/" + std::to_string(file.get());
  const int ours = MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_APPEND;
  result = call<Slot::MPI_File_open>(entry, comm, name.c_str(), amode & ~ours, info, fh);
  if (team.least(result == MPI_SUCCESS ? 1 : 0) == 0) {
    plan.file->withdraw();
    if (result == MPI_SUCCESS) result = refuse_open(MPI_ERR_IO);
    return true;
  }
  std::unique_ptr<Open> open = open_of(*fh, path, plan);
  open->first.location = plan.elsewhere ? Open::Location::elsewhere : Open::Location::here;
  open->first.name = std::filesystem::absolute(path).lexically_normal();
  open->first.maker = team.rank() == 0;
  open->first.delete_on_close = open->first.maker && (amode & MPI_MODE_DELETE_ON_CLOSE) != 0;
  open->first.stand_in = std::move(plan.opened);
  open->writable = (amode & MPI_MODE_RDONLY) == 0;
  if (plan.copied) {
    reader->staged.fd.reset();
    open->reads.reader = std::move(reader);
  } else {
    open->nodes.routed = true;
    open->nodes.meets_at_close = !open->writable;
    open->pointer.start((amode & MPI_MODE_APPEND) != 0 ? static_cast<MPI_Offset>(plan.bytes) : 0, false);
  }
  add(std::move(open));
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
