/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Parallel HDF5 as simulations use it: many small datasets and attributes, hyperslabs (regular and
 * irregular), independent and collective, chunked and compressed; read back from the open file and after
 * reopening it. */
#include <hdf5.h>

#include "client.h"

enum { small = 24, rows = 64, columns = 96 };

static hid_t created(hid_t file, const char* name, hid_t space, hid_t chunked) {
  hid_t plist = chunked >= 0 ? H5Pcopy(chunked) : H5Pcreate(H5P_DATASET_CREATE);
  REQUIRE(H5Pset_obj_track_times(plist, 0) >= 0); /* files of two runs are to be the same */
  /* Also where nothing is selected: there a stock library's data sieving leaves what was in its buffer. Rank
   * 0 fills, then all meet, then all write: without MPI_File_sync. */
  const int nothing = -7;
  REQUIRE(H5Pset_fill_value(plist, H5T_NATIVE_INT, &nothing) >= 0);
  REQUIRE(H5Pset_fill_time(plist, H5D_FILL_TIME_ALLOC) >= 0);
  hid_t set = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  REQUIRE(set >= 0);
  H5Pclose(plist);
  return set;
}

static void attribute(hid_t object, const char* name, int value) {
  hid_t space = H5Screate(H5S_SCALAR);
  hid_t made = H5Acreate2(object, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT);
  REQUIRE(made >= 0 && H5Awrite(made, H5T_NATIVE_INT, &value) >= 0);
  H5Aclose(made);
  H5Sclose(space);
}

/* Every rank writes its stripe of each of many small datasets, and reads the one before. */
static long long small_datasets(hid_t file, hid_t transfer) {
  long long sum = 0;
  hsize_t size = 16 * (hsize_t)nranks, start = 16 * (hsize_t)rank, count = 16;
  hid_t space = H5Screate_simple(1, &size, NULL), memory = H5Screate_simple(1, &count, NULL);
  REQUIRE(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL) >= 0);
  for (int i = 0; i < small; ++i) {
    char name[32];
    snprintf(name, sizeof name, "small-%02d", i);
    hid_t set = created(file, name, space, -1);
    int data[16], back[16] = {0};
    for (int k = 0; k < 16; ++k) data[k] = i * 1000 + rank * 16 + k;
    REQUIRE(H5Dwrite(set, H5T_NATIVE_INT, memory, space, transfer, data) >= 0);
    attribute(set, "index", i);
    attribute(set, "ranks", nranks);
    REQUIRE(H5Dread(set, H5T_NATIVE_INT, memory, space, transfer, back) >= 0);
    for (int k = 0; k < 16; ++k) {
      REQUIRE(back[k] == data[k]);
      sum += back[k];
    }
    H5Dclose(set);
  }
  H5Sclose(memory);
  H5Sclose(space);
  return sum;
}

/* A matrix by columns: every rank owns every nranks-th one, and a second block of them as a union. */
static void select_columns(hid_t space, int irregular) {
  hsize_t start[2] = {0, (hsize_t)rank}, stride[2] = {1, (hsize_t)nranks},
          count[2] = {rows, columns / 2 / (hsize_t)nranks};
  REQUIRE(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL) >= 0);
  if (!irregular) return;
  hsize_t more[2] = {3 + 2 * (hsize_t)rank, columns / 2}, one[2] = {1, 1}, block[2] = {2, columns / 2};
  REQUIRE(H5Sselect_hyperslab(space, H5S_SELECT_OR, more, one, one, block) >= 0);
}

static long long matrix(hid_t file, const char* name, hid_t plist, int irregular, hid_t transfer) {
  hsize_t size[2] = {rows, columns};
  hid_t space = H5Screate_simple(2, size, NULL);
  hid_t set = created(file, name, space, plist);
  select_columns(space, irregular);
  hsize_t n = (hsize_t)H5Sget_select_npoints(space);
  hid_t memory = H5Screate_simple(1, &n, NULL);
  int* data = malloc(n * sizeof *data);
  int* back = calloc(n, sizeof *back);
  for (hsize_t k = 0; k < n; ++k) data[k] = (int)(rank * 100000 + (int)k);
  REQUIRE(H5Dwrite(set, H5T_NATIVE_INT, memory, space, transfer, data) >= 0);
  REQUIRE(H5Dread(set, H5T_NATIVE_INT, memory, space, transfer, back) >= 0);
  long long sum = 0;
  for (hsize_t k = 0; k < n; ++k) {
    REQUIRE(back[k] == data[k]);
    sum += back[k] * (long long)(k % 7 + 1);
  }
  free(data);
  free(back);
  H5Sclose(memory);
  H5Sclose(space);
  H5Dclose(set);
  return sum;
}

static long long reread(const char* path, hid_t access) {
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
  REQUIRE(file >= 0);
  long long sum = 0;
  const char* names[] = {"columns", "irregular", "chunked", "packed"};
  static int all[rows * columns];
  for (int i = 0; i < 4; ++i) {
    hid_t set = H5Dopen2(file, names[i], H5P_DEFAULT);
    REQUIRE(set >= 0 && H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, all) >= 0);
    for (int k = 0; k < rows * columns; ++k) sum += all[k] * (long long)(k % 11 + 1);
    H5Dclose(set);
  }
  H5Fclose(file);
  return sum;
}

int main(int argc, char** argv) {
  char path[4096];
  snprintf(path, sizeof path, "%s/client.h5", begin(&argc, &argv));
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  REQUIRE(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  REQUIRE(file >= 0);
  hid_t collective = H5Pcreate(H5P_DATASET_XFER), independent = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(collective, H5FD_MPIO_COLLECTIVE);
  H5Pset_dxpl_mpio(independent, H5FD_MPIO_INDEPENDENT);
  hsize_t chunk[2] = {16, 12};
  hid_t chunked = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(chunked, 2, chunk);
  hid_t packed = H5Pcopy(chunked);
  H5Pset_shuffle(packed);
  H5Pset_deflate(packed, 4);

  long long sum = small_datasets(file, independent);
  attribute(file, "title", 42);
  sum += matrix(file, "columns", -1, 0, independent);
  sum += matrix(file, "irregular", -1, 1, collective);
  sum += matrix(file, "chunked", chunked, 0, collective);
  REQUIRE(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
  sum += matrix(file, "packed", packed, 0, collective);
  REQUIRE(H5Fclose(file) >= 0);
  sum += reread(path, access);
  H5Pclose(packed);
  H5Pclose(chunked);
  H5Pclose(collective);
  H5Pclose(independent);
  H5Pclose(access);
  return end(sum);
}
