/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A library that answers as ROMIO does for a file on NFS, whatever the MPI and the file system. */
#include <mpi.h>

int MPI_File_get_info(MPI_File fh, MPI_Info* info) {
  const int result = PMPI_File_get_info(fh, info);
  if (result == MPI_SUCCESS) PMPI_Info_set(*info, "romio_visibility_immediate", "false");
  return result;
}
