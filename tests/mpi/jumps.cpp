// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// Error handlers that do not return: they leave by longjmp() or by an exception. One more closes the file.
// Later calls of the program work as before. usage: jumps DIRECTORY
#include <setjmp.h>
#include <unistd.h>

#include <string>

#include "check.h"

namespace {

enum { bytes = 256 };

jmp_buf back;
struct Thrown {};

extern "C" {
void jumps(MPI_File*, int*, ...) { longjmp(back, 1); }
void throws(MPI_File*, int*, ...) { throw Thrown(); }
void closes(MPI_File* file, int*, ...) { CHECK(MPI_File_close(file)); }
void throws_of_a_communicator(MPI_Comm*, int*, ...) { throw Thrown(); }
}

MPI_File open_file(const std::string& path, MPI_File_errhandler_function* handler) {
  MPI_File file;
  MPI_Errhandler own, now;
  CHECK(MPI_File_open(MPI_COMM_SELF, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  if (handler == nullptr) return file;
  CHECK(MPI_File_create_errhandler(handler, &own));
  CHECK(MPI_File_set_errhandler(file, own));
  CHECK(MPI_File_get_errhandler(file, &now));
  EXPECT(now == own);
  CHECK(MPI_Errhandler_free(&now));
  CHECK(MPI_Errhandler_free(&own));  // the file still has it
  return file;
}

void put(MPI_File file, int value) {
  char data[bytes];
  memset(data, value, sizeof data);
  CHECK(MPI_File_write_at(file, 0, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

bool has(MPI_File file, int value) {
  char data[bytes];
  CHECK(MPI_File_read_at(file, 0, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  for (const char one : data) {
    if (one != value) return false;
  }
  return true;
}

// A bad count is an error of every MPI library.
void fail(MPI_File file) { MPI_File_write_at(file, 0, &file, -1, MPI_BYTE, MPI_STATUS_IGNORE); }

void test_jump(const std::string& path) {
  MPI_File file = open_file(path, nullptr);
  MPI_File failing = open_file(path + ".failing", &jumps);
  volatile int jumped = 0, turns = 0;
  while (turns < 3) {
    turns = turns + 1;
    put(file, 'a');
    if (setjmp(back) == 0) {
      fail(failing);
    } else {
      jumped = jumped + 1;
    }
    put(file, 'b');
    EXPECT(has(file, 'b'));
  }
  EXPECT(jumped == 3);
  CHECK(MPI_File_close(&failing));
  CHECK(MPI_File_close(&file));
  passed("jump");
}

void test_exception(const std::string& path) {
  MPI_File file = open_file(path, nullptr);
  MPI_File failing = open_file(path + ".failing", &throws);
  int caught = 0;
  for (int turn = 0; turn < 3; ++turn) {
    put(file, 'a');
    try {
      fail(failing);
    } catch (const Thrown&) {
      ++caught;
    }
    put(file, 'b');
    EXPECT(has(file, 'b'));
  }
  EXPECT(caught == 3);
  CHECK(MPI_File_set_errhandler(failing, MPI_ERRORS_RETURN));
  fail(failing);
  CHECK(MPI_File_close(&failing));
  CHECK(MPI_File_close(&file));
  passed("exception");
}

void test_close(const std::string& path) {
  for (int turn = 0; turn < 3; ++turn) {
    MPI_File failing = open_file(path, &closes);
    put(failing, 'a' + turn);
    fail(failing);
    MPI_File file = open_file(path, nullptr);
    EXPECT(has(file, 'a' + turn));
    CHECK(MPI_File_close(&file));
  }
  passed("close");
}

// In a function that does no I/O.
void test_exception_of_a_communicator() {
  MPI_Comm comm;
  MPI_Errhandler own;
  CHECK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  CHECK(MPI_Comm_create_errhandler(&throws_of_a_communicator, &own));
  CHECK(MPI_Comm_set_errhandler(comm, own));
  int caught = 0, value = 0;
  try {
    MPI_Bcast(&value, 1, MPI_INT, 1 << 20, comm);  // there is no such root
  } catch (const Thrown&) {
    ++caught;
  }
  EXPECT(caught == 1);
  CHECK(MPI_Errhandler_free(&own));
  passed("exception_of_a_communicator");
}

}  // namespace

int main(int argc, char** argv) {
  start_as(MPI_THREAD_SINGLE, &argc,
           &argv);  // with MPI_THREAD_MULTIPLE, MPICH holds a lock while a handler runs
  const std::string path = std::string(argv[1]) + "/jumps." + std::to_string(rank);
  test_jump(path + ".1");
  test_exception(path + ".2");
  test_exception_of_a_communicator();
  test_close(path + ".3");
  return finish();
}
