// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// Mean time of MPI_File_set_view by a 3-D subarray, and of MPI_Barrier beside it. Usage: set_view FILE
// [COUNT]
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr int side = 96;  // doubles, of the block of each rank

MPI_Datatype block_type(int rank, int ranks) {
  const int sizes[] = {side, side, side * ranks};
  const int parts[] = {side, side, side};
  const int starts[] = {0, 0, side * rank};
  MPI_Datatype type;
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

// Microseconds for each of `count` calls.
template <class Call>
double mean_us(int count, Call call) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < count; i++) call(i);
  return (MPI_Wtime() - begin) / (count > 0 ? count : 1) * 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int count = argc > 2 ? std::atoi(argv[2]) : 1000;
  MPI_File file;
  if (argc < 2 || MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                                &file) != MPI_SUCCESS) {
    if (rank == 0) std::fprintf(stderr, "usage: set_view FILE [COUNT], where FILE can be made\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Datatype type = block_type(rank, ranks);
  const auto set_view = [&](int i) {
    MPI_File_set_view(file, i % 2 * MPI_Offset{sizeof(double)}, MPI_DOUBLE, type, "native", MPI_INFO_NULL);
  };
  (void)mean_us(20, set_view);
  const double view_us = mean_us(count, set_view);
  const double barrier_us = mean_us(count, [](int) { MPI_Barrier(MPI_COMM_WORLD); });
  MPI_File_close(&file);
  MPI_Type_free(&type);
  if (rank == 0) {
    std::printf(
        "{\"schema\": \"millrace-bench\", \"version\": 1, \"benchmark\": \"set_view\", \"ranks\": %d, "
        "\"count\": %d, \"set_view_us\": %.2f, \"barrier_us\": %.2f}\n",
        ranks, count, view_us, barrier_us);
  }
  MPI_Finalize();
}
