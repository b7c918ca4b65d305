// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/handles/handlers.hpp"
#include "front/mpiio/real.hpp"

// The hooks of the functions that table.py lists with class "own".
namespace millrace::front {

int own_close(Entry entry, MPI_File* fh);
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

// Called before each function of class "order" in table.py. By such a collective function, other ranks may
// learn that this rank has written. So the bytes of files that several nodes have open go to their file
// servers first. Where ranks outnumber the processors, this rank then sleeps until the agent has its records.
void order_between_nodes() noexcept;

}  // namespace millrace::front
