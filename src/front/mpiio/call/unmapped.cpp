// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/call/unmapped.hpp"

#include <string>

#include "front/mpiio/call/completion.hpp"
#include "front/mpiio/call/library.hpp"

namespace millrace::front {
namespace {

bool open_alone(Open& open) {
  int amode = 0;
  if (PMPI_File_get_amode(open.handle, &amode) != MPI_SUCCESS) return false;
  amode &= MPI_MODE_WRONLY | MPI_MODE_RDWR;
  MPI_Info info;
  if (PMPI_Info_create(&info) != MPI_SUCCESS) return false;
  PMPI_Info_set(info, "romio_ds_write", "disable");  // OMPIO never sieves independent writes
  const std::string name = open.file->lasting_name();
  const int error =
      call<Slot::MPI_File_open>(Entry::pmpi, MPI_COMM_SELF, name.empty() ? open.path.c_str() : name.c_str(),
                                amode, info, &open.view.unmapped);
  PMPI_Info_free(&info);
  if (error != MPI_SUCCESS) open.view.unmapped = MPI_FILE_NULL;
  return error == MPI_SUCCESS;
}

// Finds the etype at which the write begins, and moves the individual pointer past its end. False: the
// pointer is not known.
bool take_position(const Call& call, MPI_Offset& position) {
  const Arguments& a = call.a;
  position = a.offset;
  if (!call.moves_pointer()) return true;
  MPI_Count size = 0;
  FilePointer& pointer = call.open.pointer;
  if (a.count <= 0 || a.type == MPI_DATATYPE_NULL || PMPI_Type_size_x(a.type, &size) != MPI_SUCCESS)
    return pointer.get(position) == MPI_SUCCESS;  // the library reports the error
  const MPI_Offset etypes = a.count * size / static_cast<MPI_Count>(call.open.view.unmapped_etype);
  return pointer.take(etypes, position) == MPI_SUCCESS;
}

}  // namespace

bool set_unmapped_view(Open& open, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                       const char* datarep) {
  MPI_Count unit = 0;
  const bool set = PMPI_Type_size_x(etype, &unit) == MPI_SUCCESS && unit > 0 &&
                   (open.view.unmapped != MPI_FILE_NULL || open_alone(open)) &&
                   call<Slot::MPI_File_set_view>(Entry::pmpi, open.view.unmapped, disp, etype, filetype,
                                                 datarep, MPI_INFO_NULL) == MPI_SUCCESS;
  if (set) {
    open.view.unmapped_etype = static_cast<std::uint64_t>(unit);
    return true;
  }
  close_unmapped(open);  // the handle still has an earlier view, so no write may use it
  client::log(
      open.path +
      ": the MPI library cannot open the file once more for a view that Millrace does not map. Writes "
      "through this view fail and change nothing. To leave all files to the MPI library, set "
      "MILLRACE=0");
  return false;
}

int write_unmapped(Call& call) {
  Open& open = call.open;
  if (call.nonblocking() && call.a.request == nullptr) return raise_class(open, MPI_ERR_ARG);
  if (open.view.unmapped == MPI_FILE_NULL) return raise_class(open, MPI_ERR_IO);
  MPI_Offset position = 0;
  if (!take_position(call, position)) return raise_class(open, MPI_ERR_IO);
  if (const Status settled = call.settle(everything); !settled.ok()) return raise(open, settled);
  const Row alone{Direction::write, Position::at, Coordination::independent, Completion::blocking};
  MPI_Status status;
  Arguments at = call.a;
  at.offset = position;
  at.file = open.view.unmapped;
  const int error = call_alone(alone, at, &status);
  if (error != MPI_SUCCESS) {
    PMPI_File_call_errhandler(open.handle, error);
    return error;
  }
  const auto bytes = static_cast<std::uint64_t>(bytes_of(status));
  open.file->counts().moved_by_library(bytes);
  return call.complete(bytes);
}

void close_unmapped(Open& open) {
  if (open.view.unmapped != MPI_FILE_NULL) PMPI_File_close(&open.view.unmapped);
}

}  // namespace millrace::front
