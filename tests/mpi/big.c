/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Non-blocking collective calls of 2 GiB in one piece, more than one write(2) or read(2) moves. */
#include "check.h"

enum { piece = 1 << 20, pieces = 2048 };
static const MPI_Count bytes = (MPI_Count)piece * pieces;

static MPI_Count transferred(MPI_Request* request) {
  MPI_Status status;
  MPI_Count got = -1;
  CHECK(MPI_Wait(request, &status));
  CHECK(MPI_Get_elements_x(&status, MPI_BYTE, &got));
  return got;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  char path[4096];
  snprintf(path, sizeof path, "%s/big", argv[argc - 1]);
  char* data = calloc(pieces, piece);
  MPI_Datatype type;
  MPI_File fh;
  MPI_Request request;
  MPI_Offset size = 0;
  CHECK(MPI_Type_contiguous(piece, MPI_BYTE, &type));
  CHECK(MPI_Type_commit(&type));
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &fh));
  data[bytes - 1] = 7;
  CHECK(MPI_File_iwrite_at_all(fh, 0, data, pieces, type, &request));
  EXPECT(transferred(&request) == bytes);
  CHECK(MPI_File_sync(fh));
  CHECK(MPI_File_get_size(fh, &size));
  EXPECT(size == bytes);
  passed("iwrite_at_all");
  data[bytes - 1] = 0;
  CHECK(MPI_File_iread_at_all(fh, 0, data, pieces, type, &request));
  EXPECT(transferred(&request) == bytes);
  EXPECT(data[bytes - 1] == 7);
  passed("iread_at_all");
  CHECK(MPI_File_close(&fh));
  CHECK(MPI_Type_free(&type));
  free(data);
  return finish();
}
