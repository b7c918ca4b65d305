/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The answer "romio_visibility_immediate" of MPI_File_get_info, and its truth on one node: another rank reads
 * what a rank has written, without MPI_File_sync and after one message. usage: visibility DIRECTORY
 * [true|absent]. MPICH from 4.1 on has the answer, "false" for NFS, whose driver the prefix "nfs:" chooses.
 */
#include "check.h"
#include "implementation.h"

enum { PIECE = 100, ROUNDS = 200 };

static void reads_at_once(MPI_File fh) {
  unsigned char bytes[PIECE], wanted[PIECE];
  for (int round = 0; round < ROUNDS; ++round) {
    const int writer = round % nranks, reader = (round + 1) % nranks;
    const MPI_Offset at = (MPI_Offset)round % 7 * PIECE; /* each place again and again */
    memset(wanted, round + 1, PIECE);
    if (rank == writer) {
      CHECK(MPI_File_write_at(fh, at, wanted, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
      MPI_Send(&round, 1, MPI_INT, reader, 0, MPI_COMM_WORLD);
    }
    if (rank == reader) {
      int told = -1;
      MPI_Recv(&told, 1, MPI_INT, writer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(MPI_File_read_at(fh, at, bytes, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
      EXPECT(memcmp(bytes, wanted, PIECE) == 0);
    }
  }
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int romio = mpich_major() != 0;
  char path[1024], value[MPI_MAX_INFO_VAL + 1] = "absent";
  snprintf(path, sizeof path, "%s%s/visible", romio ? "nfs:" : "", argv[1]);
  MPI_File fh;
  MPI_Info info;
  int there = 0;
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  CHECK(MPI_File_get_info(fh, &info));
  CHECK(MPI_Info_get(info, "romio_visibility_immediate", MPI_MAX_INFO_VAL, value, &there));
  MPI_Info_free(&info);
  if (rank == 0) printf("romio_visibility_immediate: %s\n", value);
  EXPECT(strcmp(value, "false") != 0);
  if (argc > 2) EXPECT(strcmp(value, argv[2]) == 0);
  reads_at_once(fh);
  CHECK(MPI_File_close(&fh));
  passed("visibility");
  return finish();
}
