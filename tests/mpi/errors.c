/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * An error of the pipeline is an MPI error of the call. Run with a client whose every write fails for want
 * of space (TEST_DOUBLE_FAIL=2). usage: errors DIRECTORY [fatal] */
#include "check.h"
#include "implementation.h"

static int handled;
static void handler(MPI_File* fh, int* error, ...) {
  (void)fh;
  handled = class_of(*error);
}

static void expect_no_space(int error) {
  EXPECT(class_of(error) == MPI_ERR_NO_SPACE);
  EXPECT(handled == MPI_ERR_NO_SPACE);
  handled = 0;
}

/* The program may wait for it. */
static void expect_no_request(MPI_Request* request) {
  EXPECT(*request == MPI_REQUEST_NULL);
  memset(request, 0x5a, sizeof *request);
}

int main(int argc, char** argv) {
  MPI_File fh;
  MPI_Errhandler own;
  MPI_Request request;
  int buf[4] = {1, 2, 3, 4};
  char path[4096];
  start(&argc, &argv);
  snprintf(path, sizeof path, "%s/errors", argv[1]);
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  if (argc > 2) {
    CHECK(MPI_File_set_errhandler(fh, MPI_ERRORS_ARE_FATAL));
    MPI_File_write_at(fh, 0, buf, 4, MPI_INT, MPI_STATUS_IGNORE);
    if (rank == 0) printf("FAIL came back from a fatal error\n");
    return finish();
  }
  EXPECT(class_of(MPI_File_write_at(fh, 0, buf, 4, MPI_INT, MPI_STATUS_IGNORE)) == MPI_ERR_NO_SPACE);
  passed("returned");
  CHECK(MPI_File_create_errhandler(handler, &own));
  CHECK(MPI_File_set_errhandler(fh, own));
  expect_no_space(MPI_File_write_at(fh, 0, buf, 4, MPI_INT, MPI_STATUS_IGNORE));
  expect_no_space(MPI_File_write(fh, buf, 4, MPI_INT, MPI_STATUS_IGNORE));
  expect_no_space(MPI_File_write_all(fh, buf, 4, MPI_INT, MPI_STATUS_IGNORE));
  memset(&request, 0x5a, sizeof request);
  expect_no_space(MPI_File_iwrite_at(fh, 0, buf, 4, MPI_INT, &request));
  expect_no_request(&request);
  expect_no_space(MPI_File_iwrite(fh, buf, 4, MPI_INT, &request));
  expect_no_request(&request);
  expect_no_space(MPI_File_iwrite_all(fh, buf, 4, MPI_INT, &request));
  expect_no_request(&request);
  expect_no_space(MPI_File_write_at_all_begin(fh, 0, buf, 4, MPI_INT));
  passed("handler");
  /* A split collective that could not begin is not active. */
  CHECK(MPI_File_write_at_all_begin(fh, 0, buf, 0, MPI_INT));
  EXPECT(class_of(MPI_File_write_all_begin(fh, buf, 0, MPI_INT)) == MPI_ERR_IO); /* one at a time */
  CHECK(MPI_File_write_at_all_end(fh, buf, MPI_STATUS_IGNORE));
  passed("split");
  /* Calls of no bytes and bad calls do not reach the pipeline. */
  CHECK(MPI_File_write_at(fh, 0, buf, 0, MPI_INT, MPI_STATUS_IGNORE));
  MPI_Datatype open_type;
  CHECK(MPI_Type_vector(2, 1, 2, MPI_INT, &open_type));
  handled = 0;
  EXPECT(MPI_File_write_at(fh, 0, buf, 1, open_type, MPI_STATUS_IGNORE) != MPI_SUCCESS);
  /* Not committed: the library says so. MPICH 5 then returns success, so that the write goes on. */
  EXPECT(handled != 0 && (mpich_major() >= 5 || handled != MPI_ERR_NO_SPACE));
  MPI_Type_free(&open_type);
  passed("arguments");
  MPI_Errhandler_free(&own);
  CHECK(MPI_File_close(&fh));
  return finish();
}
