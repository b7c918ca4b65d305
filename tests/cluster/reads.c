/* SPDX-FileCopyrightText: 2026 The Millrace authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reads a file in random ways, by seeds. A case is a file view and a row of reads: in order, at a stride, in
 * nested loops or at random places; independent or collective, blocking, non-blocking or split. Several
 * non-blocking ones may be on their way at once, with a blocking one between them.
 * FOLDER/reads-RANK gets a line for each case, with a sum over all that came. A file is opened anew every
 * tenth case. The lines do not depend on how the bytes come. With "write", the file is open for writing too,
 * and some cases change it before they read.
 *
 * The FILE "-" is a new one in FOLDER.
 *
 * usage: reads FOLDER FILE FIRST COUNT [write] */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 18, PER_OPEN = 10, NEW_FILE = 3000017, SEVERAL = 9 };

static int rank, ranks;
static unsigned char data[ROOM], rooms[SEVERAL][ROOM];
static uint64_t sum;

/* One row of numbers that all ranks share, and one of this rank. */
static uint64_t all_state, own_state;
static uint64_t next(uint64_t* state) {
  uint64_t z = (*state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
static int any(int below) { return (int)(next(&all_state) % (unsigned)below); }
static int own(int below) { return (int)(next(&own_state) % (unsigned)below); }

static void add(const void* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) sum = (sum ^ ((const unsigned char*)bytes)[i]) * 1099511628211u;
}

/* What a read returned. */
static void told(int error, MPI_Status* status, size_t room) {
  int count = -1, class = MPI_SUCCESS;
  if (error == MPI_SUCCESS) MPI_Get_count(status, MPI_BYTE, &count);
  if (error != MPI_SUCCESS) MPI_Error_class(error, &class);
  add(&class, sizeof class);
  add(&count, sizeof count);
  add(data, room);
}

/* A view: everything, or a part of each tile that belongs to this rank. */
static void set_view(MPI_File fh, MPI_Offset size) {
  MPI_Datatype type = MPI_BYTE, tile;
  MPI_Offset displacement = any(3) == 0 ? any(5000) : 0;
  const int kind = any(5), block = 1 << any(14);
  switch (kind) {
    case 0: /* the same on all ranks: where only displacements differ, OMPIO's collective reads are wrong */
      break;
    case 1: /* blocks of the ranks in turns */
      MPI_Type_contiguous(block, MPI_BYTE, &tile);
      MPI_Type_create_resized(tile, 0, (MPI_Aint)block * ranks, &type);
      MPI_Type_free(&tile);
      displacement += (MPI_Offset)block * rank;
      break;
    case 2: { /* a brick of a field */
      int sizes[3] = {4 + any(12), 4 + any(12), 64 + any(200)};
      int parts[3] = {1 + own(sizes[0]), 1 + own(sizes[1]), 1 + own(sizes[2])};
      int starts[3] = {own(sizes[0] - parts[0] + 1), own(sizes[1] - parts[1] + 1),
                       own(sizes[2] - parts[2] + 1)};
      MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_BYTE, &type);
      break;
    }
    case 3: { /* blocks without a pattern */
      int lengths[40], places[40], at = 0, blocks = 1 + own(40);
      for (int i = 0; i < blocks; ++i) {
        at += own(300);
        places[i] = at;
        lengths[i] = 1 + own(500);
        at += lengths[i];
      }
      MPI_Type_indexed(blocks, lengths, places, MPI_BYTE, &tile);
      MPI_Type_create_resized(tile, 0, at + own(1000), &type);
      MPI_Type_free(&tile);
      break;
    }
    default:
      MPI_Type_vector(1 + own(50), 1 + own(200), 200 + own(3000), MPI_BYTE, &type);
  }
  if (displacement > size) displacement = 0;
  if (type != MPI_BYTE) MPI_Type_commit(&type);
  MPI_File_set_view(fh, displacement, MPI_BYTE, type, "native", MPI_INFO_NULL);
  if (type != MPI_BYTE) MPI_Type_free(&type);
}

/* One read of `bytes` at `place`, or at the individual pointer if that is negative. */
static void read_once(MPI_File fh, MPI_Offset place, int bytes) {
  MPI_Request request;
  MPI_Status status;
  const int together = any(3) == 0, kind = any(5);
  int error;
  memset(data, 0, (size_t)bytes);
  if (place < 0) {
    if (kind == 0) {
      error = together ? MPI_File_iread_all(fh, data, bytes, MPI_BYTE, &request)
                       : MPI_File_iread(fh, data, bytes, MPI_BYTE, &request);
      MPI_Wait(&request, &status);
    } else if (kind == 1 && together) {
      MPI_File_read_all_begin(fh, data, bytes, MPI_BYTE);
      error = MPI_File_read_all_end(fh, data, &status);
    } else {
      error = together ? MPI_File_read_all(fh, data, bytes, MPI_BYTE, &status)
                       : MPI_File_read(fh, data, bytes, MPI_BYTE, &status);
    }
  } else if (kind == 0) {
    error = together ? MPI_File_iread_at_all(fh, place, data, bytes, MPI_BYTE, &request)
                     : MPI_File_iread_at(fh, place, data, bytes, MPI_BYTE, &request);
    MPI_Wait(&request, &status);
  } else if (kind == 1 && together) {
    MPI_File_read_at_all_begin(fh, place, data, bytes, MPI_BYTE);
    error = MPI_File_read_at_all_end(fh, data, &status);
  } else {
    error = together ? MPI_File_read_at_all(fh, place, data, bytes, MPI_BYTE, &status)
                     : MPI_File_read_at(fh, place, data, bytes, MPI_BYTE, &status);
  }
  told(error, &status, (size_t)bytes);
}

/* Waits for all requests, in one of the ways of MPI. */
static void finish(MPI_Request* requests, MPI_Status* statuses, int count) {
  MPI_Status found;
  int done = 0, one = 0;
  switch (any(5)) {
    case 0: /* the last first */
      for (int i = count - 1; i >= 0; --i) MPI_Wait(&requests[i], &statuses[i]);
      break;
    case 1: /* in any order */
      for (int left = count; left > 0;) {
        const int i = own(count);
        if (requests[i] == MPI_REQUEST_NULL) continue;
        MPI_Wait(&requests[i], &statuses[i]);
        --left;
      }
      break;
    case 2: /* one after the other: a second MPI_Testall of MPICH's own requests fails */
      for (int i = 0; i < count; ++i) {
        for (done = 0; !done;) MPI_Test(&requests[i], &done, &statuses[i]);
      }
      break;
    case 3:
      for (int left = count; left > 0; --left) {
        MPI_Waitany(count, requests, &one, &found);
        statuses[one] = found;
      }
      break;
    default:
      MPI_Waitall(count, requests, statuses);
  }
}

/* Several reads of `bytes` bytes on their way at once. Only independent ones: of several non-blocking
 * collective ones, MPICH aborts. */
static void read_several(MPI_File fh, const MPI_Offset* places, int count, int bytes) {
  MPI_Request requests[SEVERAL];
  MPI_Status statuses[SEVERAL], status;
  const int between = any(count);
  for (int i = 0; i < count; ++i) {
    memset(rooms[i], 0, (size_t)bytes);
    MPI_File_iread_at(fh, places[i], rooms[i], bytes, MPI_BYTE, &requests[i]);
    if (i != between) continue;
    memset(data, 0, (size_t)bytes);
    const int error = MPI_File_read_at(fh, places[count - 1 - i], data, bytes, MPI_BYTE, &status);
    told(error, &status, (size_t)bytes);
  }
  finish(requests, statuses, count);
  for (int i = 0; i < count; ++i) {
    memcpy(data, rooms[i], (size_t)bytes);
    told(MPI_SUCCESS, &statuses[i], (size_t)bytes);
  }
}

/* Keeps a read within the view's data: libraries differ in what a read with holes gives behind the end. */
static MPI_Offset within(MPI_Offset place, int bytes, MPI_Offset limit) {
  return place + bytes <= limit ? place : place % (limit - bytes + 1);
}

/* How many bytes of the view's data lie before the end of the file. */
static MPI_Offset bytes_in_view(MPI_File fh, MPI_Offset size) {
  MPI_Offset low = 0, high = size + 1;
  while (low < high) {
    const MPI_Offset middle = low + (high - low) / 2;
    MPI_Offset place = 0;
    MPI_File_get_byte_offset(fh, middle, &place);
    if (place < size) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Changes the file, and reads back what this rank is sure to see. */
static void change(MPI_File fh, MPI_Offset size) {
  MPI_Status status;
  const int bytes = 1 + any(any(3) == 0 ? ROOM : 5000), kind = any(4), writer = any(ranks);
  const MPI_Offset place = any((int)size - bytes * ranks > 0 ? (int)size - bytes * ranks : 1);
  const MPI_Offset mine = place + (MPI_Offset)bytes * rank;
  if (place + (MPI_Offset)bytes * ranks > size) return;
  MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  /* Every rank has read these bytes before they change. */
  memset(data, 0, (size_t)bytes);
  int error = MPI_File_read_at(fh, mine, data, bytes, MPI_BYTE, &status);
  told(error, &status, (size_t)bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  memset(data, own(256), (size_t)bytes);
  if (kind == 0) { /* all ranks together; OMPIO does not order such a write and another rank's next read */
    MPI_File_write_at_all(fh, mine, data, bytes, MPI_BYTE, &status);
    memset(data, 0, (size_t)bytes);
    error = MPI_File_read_at_all(fh, mine, data, bytes, MPI_BYTE, &status);
    told(error, &status, (size_t)bytes);
  } else if (rank == writer || kind == 1) { /* one rank, or each for itself */
    MPI_File_write_at(fh, mine, data, bytes, MPI_BYTE, &status);
    memset(data, 0, (size_t)bytes);
    error = MPI_File_read_at(fh, mine, data, bytes, MPI_BYTE, &status);
    told(error, &status, (size_t)bytes);
  }
  MPI_File_sync(fh);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(fh);
  error = MPI_File_read_at(fh, place, data, bytes, MPI_BYTE, &status);
  told(error, &status, (size_t)bytes);
  MPI_Barrier(MPI_COMM_WORLD); /* nobody writes the next bytes before all have read these */
}

static void run_case(MPI_File fh, MPI_Offset size, int writes) {
  MPI_Offset limit = 0;
  MPI_Status status;
  if (writes && any(8) == 0) change(fh, size);
  set_view(fh, size);
  const MPI_Offset own_limit = bytes_in_view(fh, size);
  MPI_Allreduce(&own_limit, &limit, 1, MPI_OFFSET, MPI_MIN, MPI_COMM_WORLD);
  const int reads = 1 + any(30), order = any(5);
  int bytes = any(20) == 0 ? 1 + own(ROOM) : 1 + own(1 << any(16));
  if (limit < 2) return;
  if (bytes > limit / 2) bytes = (int)(limit / 2);
  const int step = own(4) == 0 ? bytes : bytes + own(100000), inner = 1 + own(6);
  const MPI_Offset place = own(2) == 0 ? 0 : own((int)limit);
  MPI_Offset pointer = 0;
  for (int i = 0; i < reads; ++i) {
    const int changes = any(15) == 0, other = 1 + own(bytes);
    if (order != 0 && any(8) == 0) {
      MPI_Offset places[SEVERAL];
      const int count = 1 + any(SEVERAL), random = any(3) == 0;
      for (int k = 0; k < count; ++k)
        places[k] = within(random ? own((int)limit) : place + (MPI_Offset)(i + k) * step, bytes, limit);
      read_several(fh, places, count, bytes);
      i += count - 1;
      continue;
    }
    switch (order) {
      case 0:
        if (changes || pointer + bytes > limit) {
          pointer = within(own((int)limit), bytes, limit);
          MPI_File_seek(fh, pointer, MPI_SEEK_SET);
        }
        read_once(fh, -1, bytes);
        pointer += bytes;
        break;
      case 1:
        read_once(fh, within(place + (MPI_Offset)i * step, bytes, limit), bytes);
        break;
      case 2:
        read_once(fh,
                  within(place + (MPI_Offset)(i % inner) * bytes + (MPI_Offset)(i / inner) * step * inner,
                         bytes, limit),
                  bytes);
        break;
      case 3:
        read_once(fh, within(own((int)limit), other, limit), other);
        break;
      default:
        read_once(fh, within(place + (MPI_Offset)i * step, bytes, limit), changes ? other : bytes);
    }
  }
  /* One contiguous read over the end of the file. */
  MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  memset(data, 0, 5000);
  const int error = MPI_File_read_at(fh, size - own(3000), data, 5000, MPI_BYTE, &status);
  told(error, &status, 5000);
  if (any(4) == 0) MPI_File_sync(fh);
}

static const char* make_file(const char* folder) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/data", folder);
  if (rank == 0) {
    uint64_t state = 1;
    FILE* file = fopen(path, "w");
    for (int i = 0; file != NULL && i < NEW_FILE; ++i) putc((int)(next(&state) >> 56), file);
    if (file == NULL || fclose(file) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return path;
}

int main(int argc, char** argv) {
  char name[4096];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 5 && argc != 6) MPI_Abort(MPI_COMM_WORLD, 2);
  const int writes = argc == 6, amode = writes ? MPI_MODE_RDWR : MPI_MODE_RDONLY;
  const char* path = strcmp(argv[2], "-") == 0 ? make_file(argv[1]) : argv[2];
  snprintf(name, sizeof name, "%s/reads-%d", argv[1], rank);
  FILE* out = fopen(name, "w");
  MPI_File fh = MPI_FILE_NULL;
  MPI_Offset size = 0;
  const int first = atoi(argv[3]), count = atoi(argv[4]);
  for (int seed = first; seed < first + count; ++seed) {
    if ((seed - first) % PER_OPEN == 0) {
      if (fh != MPI_FILE_NULL) MPI_File_close(&fh);
      if (MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &fh) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
      MPI_File_get_size(fh, &size);
    }
    all_state = (uint64_t)seed;
    own_state = (uint64_t)seed * 1000 + (uint64_t)rank;
    sum = 1469598103934665603u;
    run_case(fh, size, writes);
    fprintf(out, "case %d %016llx\n", seed, (unsigned long long)sum);
  }
  if (fh != MPI_FILE_NULL) MPI_File_close(&fh);
  fclose(out);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("end\n");
  MPI_Finalize();
  return 0;
}
