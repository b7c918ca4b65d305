/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * PnetCDF: many variables, fixed and with records, blocking and non-blocking, subarrays and strides,
 * collective and independent, attributes; read back from the open file and after reopening it. */
#include <pnetcdf.h>

#include "client.h"

enum { variables = 20, rows = 12, columns = 32, steps = 3 };

#define OK(call) REQUIRE((call) == NC_NOERR)

static void fill(int* data, int n, int key) {
  for (int k = 0; k < n; ++k) data[k] = key * 10000 + rank * 1000 + k;
}

static long long same(const int* a, const int* b, int n) {
  long long sum = 0;
  for (int k = 0; k < n; ++k) {
    REQUIRE(a[k] == b[k]);
    sum += a[k] * (long long)(k % 5 + 1);
  }
  return sum;
}

static void define(int file, int* ids, int* record) {
  int dims[3];
  OK(ncmpi_def_dim(file, "time", NC_UNLIMITED, &dims[0]));
  OK(ncmpi_def_dim(file, "row", rows, &dims[1]));
  OK(ncmpi_def_dim(file, "column", columns * nranks, &dims[2]));
  for (int i = 0; i < variables; ++i) {
    char name[32];
    snprintf(name, sizeof name, "variable-%02d", i);
    OK(ncmpi_def_var(file, name, NC_INT, 2, dims + 1, &ids[i]));
    OK(ncmpi_put_att_text(file, ids[i], "units", 5, "metre"));
    OK(ncmpi_put_att_int(file, ids[i], "index", NC_INT, 1, &i));
  }
  OK(ncmpi_def_var(file, "history", NC_INT, 3, dims, record));
  OK(ncmpi_enddef(file));
}

static long long write_all(int file, const int* ids, int record) {
  static int data[rows * columns], back[rows * columns], queued[variables][rows * columns];
  MPI_Offset start[3] = {0, 0, columns * rank}, count[3] = {1, rows, columns};
  int requests[variables], statuses[variables];
  long long sum = 0;
  for (int i = 0; i < variables / 2; ++i) {
    fill(data, rows * columns, i);
    OK(ncmpi_put_vara_int_all(file, ids[i], start + 1, count + 1, data));
    OK(ncmpi_get_vara_int_all(file, ids[i], start + 1, count + 1, back));
    sum += same(data, back, rows * columns);
  }
  for (int i = variables / 2; i < variables; ++i) {
    fill(queued[i], rows * columns, i);
    OK(ncmpi_iput_vara_int(file, ids[i], start + 1, count + 1, queued[i], &requests[i]));
  }
  OK(ncmpi_wait_all(file, variables - variables / 2, requests + variables / 2, statuses));
  for (int step = 0; step < steps; ++step) {
    start[0] = step;
    fill(data, rows * columns, 100 + step);
    OK(ncmpi_put_vara_int_all(file, record, start, count, data));
  }
  OK(ncmpi_sync(file));
  OK(ncmpi_begin_indep_data(file));
  MPI_Offset every[2] = {rank % 2, columns * rank}, some[2] = {rows / 2, columns / 4}, stride[2] = {2, 4};
  fill(data, rows * columns, 500);
  OK(ncmpi_put_vars_int(file, ids[3], every, some, stride, data));
  OK(ncmpi_get_vars_int(file, ids[3], every, some, stride, back));
  sum += same(data, back, rows * columns / 8);
  OK(ncmpi_end_indep_data(file));
  return sum;
}

int main(int argc, char** argv) {
  char path[4096];
  snprintf(path, sizeof path, "%s/client.nc", begin(&argc, &argv));
  int file, ids[variables], record;
  OK(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
  define(file, ids, &record);
  long long sum = write_all(file, ids, record);
  OK(ncmpi_close(file));
  OK(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file));
  static int back[rows * columns];
  MPI_Offset start[3] = {0, 0, columns * ((rank + 1) % nranks)}, count[3] = {1, rows, columns};
  for (int i = 0; i < variables; ++i) {
    OK(ncmpi_get_vara_int_all(file, ids[i], start + 1, count + 1, back));
    for (int k = 0; k < rows * columns; ++k) sum += back[k] * (long long)(k % 3 + 1);
  }
  OK(ncmpi_close(file));
  return end(sum);
}
