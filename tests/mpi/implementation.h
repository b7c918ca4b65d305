/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whose MPI library runs the program. It is asked: the header of the standard ABI is the same for all of
 * them. */
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <stdio.h>
#include <string.h>

/* The major version of an MPICH. 0: an Open MPI. 1: another library, which an old MPICH may be part of. */
static inline int mpich_major(void) {
  static char text[16384]; /* larger than any MPI_MAX_LIBRARY_VERSION_STRING */
  int size = 0, major = 0;
  if (text[0] == '\0') MPI_Get_library_version(text, &size);
  if (strstr(text, "Open MPI") != NULL) return 0;
  return sscanf(text, "MPICH Version: %d", &major) == 1 ? major : 1;
}
