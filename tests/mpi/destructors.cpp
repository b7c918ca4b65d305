// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// The destructor of an object with static storage writes the last bytes, closes the file and calls
// MPI_Finalize. The object is older than MPI_Init. usage: destructors DIRECTORY
#include <unistd.h>

#include <string>

#include "check.h"

namespace {

enum { bytes = 512, records = 100 };

class Writer {
 public:
  ~Writer() {
    put('z', records);
    CHECK(MPI_File_close(&file_));
    EXPECT(has('a', 0) && has('z', records));
    passed("destructor");
    if (finish() != MPI_SUCCESS) _exit(1);
  }

  void open(const std::string& folder) {
    path_ = folder + "/destructors." + std::to_string(rank);
    CHECK(MPI_File_open(MPI_COMM_SELF, path_.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                        &file_));
  }

  void put(char value, int first) {
    const std::string data(bytes, value);
    for (int i = first; i < first + records; ++i)
      CHECK(MPI_File_write_at(file_, i * bytes, data.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  }

 private:
  bool has(char value, int first) const {
    std::string data(bytes * records, 0);
    FILE* in = fopen(path_.c_str(), "rb");
    if (in == nullptr) return false;
    const bool whole =
        fseek(in, first * bytes, SEEK_SET) == 0 && fread(data.data(), 1, data.size(), in) == data.size();
    fclose(in);
    return whole && data == std::string(bytes * records, value);
  }

  std::string path_;
  MPI_File file_ = MPI_FILE_NULL;
};

Writer writer;

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  writer.open(argv[1]);
  writer.put('a', 0);
  return 0;
}
