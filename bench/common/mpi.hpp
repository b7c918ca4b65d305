// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Helpers that the MPI programs share. Header only: each MPI compiles it anew.
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/args.hpp"
#include "common/pattern.hpp"
#include "common/system.hpp"

namespace bench {

using Hints = std::vector<std::pair<std::string, std::string>>;

inline void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(std::string(call) + ": " + std::string(text, static_cast<std::size_t>(length)));
}

inline std::string mpi_version() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  return std::string(version, std::strcspn(version, "\n"));
}

inline MPI_File open_mpi_file(const std::string& path, int mode, const Hints& hints) {
  MPI_Info info = MPI_INFO_NULL;
  if (!hints.empty()) MPI_Info_create(&info);
  for (const auto& [name, value] : hints) MPI_Info_set(info, name.c_str(), value.c_str());
  MPI_File file = MPI_FILE_NULL;
  const int code = MPI_File_open(MPI_COMM_WORLD, path.c_str(), mode, info, &file);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  check_mpi(code, "MPI_File_open");
  return file;
}

inline void check_count(const MPI_Status& status, MPI_Datatype type, int wanted, const char* call) {
  int count = 0;
  MPI_Get_count(&status, type, &count);
  if (count != wanted) throw std::runtime_error(std::string(call) + ": less data than asked");
}

// Before every timed write: the file is gone, the disk is idle, the memory is warm. Collective.
inline void prepare_run(const std::string& path, std::uint64_t bytes, bool warm, int rank, int ranks) {
  MPI_Barrier(MPI_COMM_WORLD);  // other ranks may still use the last run's file
  if (rank == 0) {
    remove_file(path);
    sync_file_system(path);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (warm) warm_memory(bytes, static_cast<unsigned>(ranks), [] { MPI_Barrier(MPI_COMM_WORLD); });
}

// Each rank compares its share of a file of `bytes` with plain reads. Returns this rank's number of errors.
inline long check_share(const std::string& path, std::uint64_t bytes, std::uint64_t seed, int rank,
                        int ranks) {
  const std::uint64_t share = bytes / static_cast<unsigned>(ranks);
  const std::uint64_t begin = share * static_cast<unsigned>(rank);
  const FileCheck result = check_file(path.c_str(), begin, rank + 1 < ranks ? begin + share : bytes, seed);
  if (!result.ok) std::fprintf(stderr, "rank %d: %s\n", rank, result.message);
  return result.ok ? 0 : 1;
}

inline std::vector<double> max_over_ranks(std::vector<double> own) {
  std::vector<double> all(own.size());
  MPI_Allreduce(own.data(), all.data(), static_cast<int>(own.size()), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

inline long sum_over_ranks(long own) {
  long all = 0;
  MPI_Allreduce(&own, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

// Ends the job, a moment after the last message: launchers drop what they have not passed on by then.
inline void abort_job() {
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// main() of an MPI program: `start` reads its options and runs it; usage errors end with 2. A program whose
// main thread alone calls MPI asks for MPI_THREAD_FUNNELED.
inline int mpi_main(const char* name, int argc, char** argv,
                    const std::function<int(int, char**, int, int)>& start, int threads = MPI_THREAD_SINGLE) {
  int rank = 0, ranks = 1, status = 2, provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, threads, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  try {
    status = start(argc, argv, rank, ranks);
  } catch (const BadUsage& problem) {
    if (rank == 0) std::fprintf(stderr, "%s: %s\n", name, problem.what());
  } catch (const std::exception& problem) {
    // Other ranks may wait in a collective call: the job as a whole has failed.
    std::fprintf(stderr, "%s: rank %d: %s\n", name, rank, problem.what());
    abort_job();
  }
  MPI_Finalize();
  return status;
}

}  // namespace bench
