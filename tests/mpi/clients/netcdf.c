/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Parallel NetCDF-4: variables with collective and independent access, chunks, an unlimited dimension,
 * attributes; read back from the open file and after reopening it. */
#include <netcdf.h>
#include <netcdf_par.h>

#include "client.h"

enum { variables = 8, rows = 16, columns = 24, steps = 3 };

#define OK(call) REQUIRE((call) == NC_NOERR)

static long long one_variable(int file, int id, int key, int access, int records) {
  static double data[rows * columns], back[rows * columns];
  long long sum = 0;
  OK(nc_var_par_access(file, id, access));
  for (int step = 0; step < (records ? steps : 1); ++step) {
    size_t start[3] = {(size_t)step, 0, (size_t)(columns * rank)}, count[3] = {1, rows, columns};
    for (int k = 0; k < rows * columns; ++k) data[k] = key * 100 + rank + step + k / 8.0;
    OK(nc_put_vara_double(file, id, records ? start : start + 1, records ? count : count + 1, data));
    OK(nc_get_vara_double(file, id, records ? start : start + 1, records ? count : count + 1, back));
    for (int k = 0; k < rows * columns; ++k) {
      REQUIRE(back[k] == data[k]);
      sum += (long long)(back[k] * 8) * (k % 5 + 1);
    }
  }
  return sum;
}

int main(int argc, char** argv) {
  char path[4096];
  snprintf(path, sizeof path, "%s/client.nc4", begin(&argc, &argv));
  int file, dims[3], ids[variables], record;
  OK(nc_create_par(path, NC_CLOBBER | NC_NETCDF4, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
  OK(nc_def_dim(file, "time", NC_UNLIMITED, &dims[0]));
  OK(nc_def_dim(file, "row", rows, &dims[1]));
  OK(nc_def_dim(file, "column", (size_t)(columns * nranks), &dims[2]));
  for (int i = 0; i < variables; ++i) {
    char name[32];
    snprintf(name, sizeof name, "variable-%d", i);
    OK(nc_def_var(file, name, NC_DOUBLE, 2, dims + 1, &ids[i]));
    const size_t chunk[2] = {4, 12};
    if (i % 2 == 1) OK(nc_def_var_chunking(file, ids[i], NC_CHUNKED, chunk));
    OK(nc_put_att_int(file, ids[i], "index", NC_INT, 1, &i));
    OK(nc_put_att_text(file, ids[i], "units", 6, "kelvin"));
  }
  OK(nc_def_var(file, "history", NC_DOUBLE, 3, dims, &record));
  OK(nc_enddef(file));
  long long sum = 0;
  for (int i = 0; i < variables; ++i)
    sum += one_variable(file, ids[i], i, i % 4 < 2 ? NC_COLLECTIVE : NC_INDEPENDENT, 0);
  OK(nc_sync(file));
  sum += one_variable(file, record, 50, NC_COLLECTIVE, 1);
  OK(nc_close(file));

  OK(nc_open_par(path, NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
  static double back[rows * columns];
  size_t start[2] = {0, (size_t)(columns * ((rank + 1) % nranks))}, count[2] = {rows, columns};
  for (int i = 0; i < variables; ++i) {
    OK(nc_get_vara_double(file, ids[i], start, count, back));
    for (int k = 0; k < rows * columns; ++k) sum += (long long)(back[k] * 8) * (k % 3 + 1);
  }
  OK(nc_close(file));
  return end(sum);
}
