// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/real.hpp"

namespace millrace::front {

// The hook of MPI_File_open.
int own_open(Entry entry, MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh);

}  // namespace millrace::front
