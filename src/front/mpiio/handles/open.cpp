// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/handles/open.hpp"

#include <utility>

#include "front/mpiio/ranks/exchange.hpp"

namespace millrace::front {

int error_class(Code code) {
  switch (code) {
    case Code::ok:
      return MPI_SUCCESS;
    case Code::invalid:
      return MPI_ERR_ARG;
    case Code::no_space:
      return MPI_ERR_NO_SPACE;
    case Code::quota:
      return MPI_ERR_QUOTA;
    case Code::access:
      return MPI_ERR_ACCESS;
    case Code::read_only:
      return MPI_ERR_READ_ONLY;
    case Code::not_found:
      return MPI_ERR_NO_SUCH_FILE;
    case Code::unsupported:
      return MPI_ERR_UNSUPPORTED_OPERATION;
    case Code::no_memory:
      return MPI_ERR_NO_MEM;
    case Code::io:
    case Code::lost_agent:
    case Code::lost_peer:
    case Code::timeout:
    case Code::corrupt:
    case Code::too_big:
    case Code::refused:
      return MPI_ERR_IO;
  }
  return MPI_ERR_IO;
}

int raise(const Open& open, Status status) {
  if (status.ok()) return MPI_SUCCESS;
  client::log(open.path + ": " + status.describe());
  return raise_class(open, error_class(status.code()));
}

int raise_class(const Open& open, int value) {
  PMPI_File_call_errhandler(open.handle, value);  // does not return if errors are fatal
  return value;
}

std::unique_ptr<Open> open_of(MPI_File handle, const std::string& path, client::Plan& plan) {
  auto open = std::make_unique<Open>();
  open->handle = handle;
  open->path = path;
  open->file = std::move(plan.file);
  open->nodes.group = plan.group;
  open->reads.through = plan.through;
  return open;
}

bool all_ranks(Open& open, bool mine) {
  if (open.nodes.ranks == nullptr) open.nodes.ranks = ranks_of_file(open.handle, open.nodes.group);
  if (open.nodes.ranks == nullptr) return false;
  if (open.nodes.ranks->size == 1) return mine;
  return all_of(open.nodes.ranks->comm, mine);
}

}  // namespace millrace::front
