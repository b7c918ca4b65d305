// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/call/call.hpp"

// Writes of a rank whose view cannot be mapped to pieces (types/view_check.hpp). Other ranks of the file may
// have views with a map, and this rank does not ask them. So even its collective writes must need no other
// rank. These writes must not read and rewrite the holes of the view (data sieving), because the pipeline may
// have put other ranks' bytes there. For these writes, the rank opens a handle alone, with sieving disabled.
// The rank needs no such handle if sieving is safe (open/sieving.hpp).
namespace millrace::front {

// Opens that handle if necessary and sets its view. False: the library cannot open the file again, or refuses
// the view.
bool set_unmapped_view(Open& open, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                       const char* datarep);

// The way of writes through such a view.
int write_unmapped(Call& call);

void close_unmapped(Open& open);

}  // namespace millrace::front
