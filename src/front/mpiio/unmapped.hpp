// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/open.hpp"
#include "front/mpiio/transfer.hpp"

// A view that cannot be mapped to pieces (view_check.hpp), on this rank: other ranks of the file may have
// views that can, and nobody asks them. So this rank's writes, collective ones too, need no other rank; and
// they never read and rewrite the holes of the view ("data sieving"), where the pipeline may have put other
// ranks' bytes meanwhile. The library makes them, by a handle that this rank opens alone for it, with sieving
// disabled. Not needed where sieving does no harm (sieving.hpp).
namespace millrace::front {

// Gives that handle the view. False: the library cannot open the file again, or does not take the view there.
bool set_unmapped_view(Open& open, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                       const char* datarep);

// As write() of transfer.cpp, where the view has no map.
int write_unmapped(Open& open, const Row& row, const Arguments& a);

void close_unmapped(Open& open);

}  // namespace millrace::front
