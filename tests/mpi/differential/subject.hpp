// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "observer.hpp"
#include "types/random_type.hpp"

// Random numbers: `shared` gives all ranks of a case the same ones, `own` each its own.
struct Dice {
  RandomType shared;
  RandomType own;
};

// There an empty write of memory with holes, through a view with holes, fails in ROMIO of MPICH 4.0, and
// keeps a lock on the bytes before its place until the file is closed: other ranks wait for it for ever.
bool on_nfs(const std::string& path);

// One file of a case, with a view in which this rank's bytes meet nobody else's: all ranks write and read at
// will inside [0, span) of their views until the view changes.
class Subject {
 public:
  Subject(MPI_Comm comm, std::string path, Dice& dice, Observer& observer, bool corrupt);
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  // Collective; decided by the shared dice.
  void step();
  void close();

 private:
  enum class Kind {
    at,
    at_all,
    individual,
    individual_all,
    iat,
    iindividual,
    iat_all,
    iindividual_all,
    at_split,
    individual_split,
    count
  };

  // A piece of memory laid out by a random type.
  struct Memory {
    std::vector<unsigned char> bytes;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int count = 0;
    std::size_t origin = 0;
    MPI_Count size = 0;  // of all elements
    void* buffer() { return bytes.data() + origin; }
  };

  void open(bool first);
  void new_view();
  void contiguous_view();
  void interleaved_view();
  void block_view();
  void settle();  // all ranks see earlier writes afterwards
  void transfers();
  void transfer(bool write, Kind kind);
  int start(bool write, Kind kind, MPI_Offset offset, Memory& memory, MPI_Status* status,
            MPI_Request* request);
  int finish_split(bool write, Kind kind, Memory& memory, MPI_Status* status);
  void pair_of_requests();
  void resize();
  MPI_Offset common_size();
  void ask();
  void seek_somewhere();
  void ordered();
  Memory make_memory(bool write);
  MPI_Offset fitting_offset(MPI_Count bytes);
  void release(Memory& memory);
  void check(const char* what, int error);
  void note_status(MPI_Status& status, const Memory& memory);
  void note_position();

  MPI_Comm comm_;
  int rank_ = 0;
  int ranks_ = 1;
  std::string path_;
  Dice& dice_;
  Observer& observer_;
  bool corrupt_;
  MPI_File file_ = MPI_FILE_NULL;
  MPI_Offset etype_size_ = 1;
  MPI_Offset span_ = 0;  // bytes of this rank's stream that it may touch
  MPI_Offset base_ = 0;  // and the byte where they begin
};
