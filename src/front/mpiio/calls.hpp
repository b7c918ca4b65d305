// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/open.hpp"

// The functions of class "own" in table.py.
namespace millrace::front {

int own_open(Entry entry, MPI_Comm comm, const char* filename, int amode, MPI_Info info,
             MPI_File* fh) noexcept;
int own_close(Entry entry, MPI_File* fh) noexcept;
int own_get_info(Entry entry, MPI_File fh, MPI_Info* info_used) noexcept;
int own_set_view(Entry entry, MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                 const char* datarep, MPI_Info info) noexcept;
int own_seek(Entry entry, MPI_File fh, MPI_Offset offset, int whence) noexcept;
int own_get_position(Entry entry, MPI_File fh, MPI_Offset* offset) noexcept;
int own_seek_shared(Entry entry, MPI_File fh, MPI_Offset offset, int whence) noexcept;
int own_get_position_shared(Entry entry, MPI_File fh, MPI_Offset* offset) noexcept;
int own_set_size(Entry entry, MPI_File fh, MPI_Offset size) noexcept;
int own_preallocate(Entry entry, MPI_File fh, MPI_Offset size) noexcept;
int own_get_size(Entry entry, MPI_File fh, MPI_Offset* size) noexcept;
int own_set_atomicity(Entry entry, MPI_File fh, int flag) noexcept;
int own_sync(Entry entry, MPI_File fh) noexcept;
int own_finalize(Entry entry) noexcept;

// Before a collective function by which other ranks may learn that this rank has written (class "order").
void order_between_nodes() noexcept;

}  // namespace millrace::front
