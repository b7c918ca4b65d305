// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// Random correct MPI-IO programs: a case is a seed. Writes two files per case into DIRECTORY and prints, per
// case, a digest of everything that its ranks saw. The same seeds with another library below must give the
// same lines and the same files: differential.py compares.
//
// usage: differential DIRECTORY FIRST_SEED LAST_SEED
// MILLRACE_DIFFERENTIAL_VERBOSE=1: every rank's calls and results, on stderr.
// MILLRACE_DIFFERENTIAL_CORRUPT=SEED: in that case rank 0 writes wrong bytes, and the first byte of its first
// file is wrong, to test the test.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "implementation.h"
#include "subject.hpp"

namespace {

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Changes the first byte of a file, or makes it one byte long.
void spoil(const std::string& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const int byte = file.get();
  file.clear();
  file.seekp(0);
  file.put(static_cast<char>(byte ^ 0x55));
}

void one_case(const std::string& directory, std::uint64_t seed, bool verbose, bool corrupt) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Dice dice{RandomType(seed * 1000, false),
            RandomType(seed * 1000 + 1 + static_cast<std::uint64_t>(rank), false)};
  const int members = static_cast<int>(dice.shared.range(1, ranks));
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, rank < members ? 0 : MPI_UNDEFINED, rank, &comm);
  Observer observer(rank, verbose);
  if (comm != MPI_COMM_NULL) {
    const std::string stem = directory + "/case-" + std::to_string(seed);
    std::vector<std::unique_ptr<Subject>> files;
    for (const char* name : {"-a", "-b"})
      files.push_back(std::make_unique<Subject>(comm, stem + name, dice, observer, corrupt && rank == 0));
    const std::int64_t steps = dice.shared.range(4, 16);
    for (std::int64_t i = 0; i < steps; ++i) files[dice.shared.range(0, 1)]->step();
    for (auto& file : files) file->close();
    if (corrupt && rank == 0) spoil(stem + "-a");  // its writes may all have been empty
    MPI_Comm_free(&comm);
  }
  const std::uint64_t digest = observer.digest();
  std::vector<std::uint64_t> all(static_cast<std::size_t>(ranks));
  MPI_Gather(&digest, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  std::printf("case %" PRIu64 " ranks %d", seed, members);
  for (int i = 0; i < members; ++i) std::printf(" %016" PRIx64, all[i]);
  std::printf("\n");
  std::fflush(stdout);
}

// Prints the calls that the cases leave out, because this library is no oracle for them. The driver passes
// these lines on.
void say_what_is_left_out(const std::string& directory) {
  const int major = mpich_major();
  if (major > 1 && on_nfs(directory))
    std::puts("left out: empty transfers of memory with holes: ROMIO of MPICH 4.0 keeps a lock on NFS");
  if (major == 0 && on_nfs(directory))
    std::puts("left out: two writes on their way: Open MPI unlocks the file at the end of one on NFS");
  if (major > 1 && major < 5)
    std::puts("left out: memory types that do not ascend: ROMIO of MPICH 4.0 goes beyond the memory");
  if (major == 1) std::puts("left out: memory types: Intel MPI takes wrong bytes of those with holes");
  if (major == 3)
    std::puts("left out: MPI_File_get_position: ROMIO of MPICH 3.4 tells less for some views of pieces");
  if (major >= 5)
    std::puts(
        "left out: memory types without holes that begin before the buffer: ROMIO of MPICH 5.0 takes them "
        "from the buffer on (ADR 6)");
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
  if (argc != 4) {
    std::fputs("usage: differential DIRECTORY FIRST_SEED LAST_SEED\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const std::uint64_t first = std::strtoull(argv[2], nullptr, 10);
  const std::uint64_t last = std::strtoull(argv[3], nullptr, 10);
  const bool verbose = number("MILLRACE_DIFFERENTIAL_VERBOSE", 0) != 0;
  const std::uint64_t corrupt = number("MILLRACE_DIFFERENTIAL_CORRUPT", UINT64_MAX);
  for (std::uint64_t seed = first; seed <= last; ++seed) one_case(argv[1], seed, verbose, seed == corrupt);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    say_what_is_left_out(argv[1]);
    std::puts("end");
  }
  MPI_Finalize();
  return 0;
}
