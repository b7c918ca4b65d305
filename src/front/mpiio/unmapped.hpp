// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/arguments.hpp"
#include "front/mpiio/open.hpp"

// Writes of a rank whose view cannot be mapped to pieces (view_check.hpp). Other ranks of the file may have
// views with a map, and this rank does not ask them. So its writes, collective ones too, must need no other
// rank. They must not read and rewrite the holes of the view (data sieving), because the pipeline may have
// put other ranks' bytes there. The library makes these writes by a handle that this rank opens alone, with
// sieving disabled. That handle is not needed if sieving is safe (sieving.hpp).
namespace millrace::front {

// Sets the view of that handle. False: the library cannot open the file again, or refuses the view there.
bool set_unmapped_view(Open& open, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                       const char* datarep);

// As write() of write.cpp, for a view without a map.
int write_unmapped(Open& open, const Row& row, const Arguments& a);

void close_unmapped(Open& open);

}  // namespace millrace::front
