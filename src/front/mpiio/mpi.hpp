// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

// Whether this MPI declares the large-count functions of MPI 4.
#if MPI_VERSION >= 4
#define MILLRACE_LARGE_COUNT 1
#else
#define MILLRACE_LARGE_COUNT 0
#endif
