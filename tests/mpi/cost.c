/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the front end adds to a small write: run with a client that does nothing (TEST_DOUBLE_NULL=1).
 * usage: cost DIRECTORY BOUND_NS. Fails if the best batch of an explicit-offset write costs more. */
#include "check.h"

enum { BATCHES = 20, CALLS = 50000 };
static char buf[256];

static double best(MPI_File fh, int kind, MPI_Datatype type, int count) {
  double least = 1e9;
  MPI_Status st;
  for (int b = 0; b < BATCHES; ++b) {
    double t = MPI_Wtime();
    for (int i = 0; i < CALLS; ++i) {
      if (kind == 0) MPI_File_write_at(fh, 256 * (MPI_Offset)i, buf, count, type, MPI_STATUS_IGNORE);
      if (kind == 1) MPI_File_write_at(fh, 256 * (MPI_Offset)i, buf, count, type, &st);
      if (kind == 2) MPI_File_write(fh, buf, count, type, MPI_STATUS_IGNORE);
    }
    t = (MPI_Wtime() - t) / CALLS * 1e9;
    if (t < least) least = t;
  }
  return least;
}

int main(int argc, char** argv) {
  char path[4096];
  MPI_File fh;
  MPI_Datatype pairs;
  start(&argc, &argv);
  snprintf(path, sizeof path, "%s/cost", argv[1]);
  CHECK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  CHECK(MPI_Type_vector(16, 1, 2, MPI_DOUBLE, &pairs));
  CHECK(MPI_Type_commit(&pairs));
  double plain = best(fh, 0, MPI_BYTE, 256), status = best(fh, 1, MPI_BYTE, 256);
  double pointer = best(fh, 2, MPI_BYTE, 256), vector = best(fh, 0, pairs, 1);
  printf("ns per call: write_at %.1f, with status %.1f, write %.1f, 16 pieces of a vector %.1f\n", plain,
         status, pointer, vector);
  EXPECT(plain <= atof(argv[2]));
  MPI_Type_free(&pairs);
  CHECK(MPI_File_close(&fh));
  passed("cost");
  return finish();
}
