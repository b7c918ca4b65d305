// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "ior/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace bench {
namespace {

class PosixFile : public TestFile {
 public:
  PosixFile(const std::string& path, bool writing) {
    fd_ = ::open(path.c_str(), (writing ? O_CREAT | O_RDWR : O_RDONLY) | O_CLOEXEC, 0644);
    if (fd_ < 0) fail("open " + path);
  }
  ~PosixFile() override {
    if (fd_ >= 0) ::close(fd_);
  }
  void write(const void* data, std::uint64_t size, std::uint64_t offset) override {
    const ssize_t done = ::pwrite(fd_, data, size, static_cast<off_t>(offset));
    if (done != static_cast<ssize_t>(size)) fail("pwrite", done < 0);
  }
  void read(void* data, std::uint64_t size, std::uint64_t offset) override {
    const ssize_t done = ::pread(fd_, data, size, static_cast<off_t>(offset));
    if (done != static_cast<ssize_t>(size)) fail("pread", done < 0);
  }
  void sync() override {
    if (::fsync(fd_) != 0) fail("fsync");
  }
  void close() override {
    const int fd = fd_;
    fd_ = -1;
    if (::close(fd) != 0) fail("close");
  }

 private:
  [[noreturn]] static void fail(const std::string& what, bool use_errno = true) {
    throw std::runtime_error(what + ": " + (use_errno ? std::strerror(errno) : "fewer bytes than asked"));
  }
  int fd_ = -1;
};

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(std::string(call) + ": " + std::string(text, static_cast<std::size_t>(length)));
}

class MpiFile : public TestFile {
 public:
  MpiFile(const IorOptions& o, const std::string& path, bool writing, MPI_Comm comm)
      : collective_(o.collective), view_(o.file_view) {
    MPI_Info info = MPI_INFO_NULL;
    if (!o.hints.empty()) MPI_Info_create(&info);
    for (const auto& [name, value] : o.hints) MPI_Info_set(info, name.c_str(), value.c_str());
    const int mode = writing ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY;
    const int code = MPI_File_open(comm, path.c_str(), mode, info, &file_);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    check(code, "MPI_File_open");
  }

  // The rank's blocks, one in each segment. Transfers then follow each other by the file pointer.
  void set_view(const IorOptions& o, int rank, int ranks) {
    const int blocks = 1;
    const int length = static_cast<int>(o.transfer);
    const auto per_block = static_cast<int>(o.block / o.transfer);
    MPI_Datatype transfer, block, type;
    MPI_Type_contiguous(length, MPI_BYTE, &transfer);
    MPI_Type_contiguous(per_block, transfer, &block);
    const MPI_Aint displacement = static_cast<MPI_Aint>(o.block) * rank;
    MPI_Datatype placed;
    MPI_Type_create_struct(1, &blocks, &displacement, &block, &placed);
    MPI_Type_create_resized(placed, 0, static_cast<MPI_Aint>(o.block) * ranks, &type);
    MPI_Type_commit(&type);
    const int code = MPI_File_set_view(file_, 0, MPI_BYTE, type, "native", MPI_INFO_NULL);
    MPI_Type_free(&transfer);
    MPI_Type_free(&block);
    MPI_Type_free(&placed);
    MPI_Type_free(&type);
    check(code, "MPI_File_set_view");
  }

  void write(const void* data, std::uint64_t size, std::uint64_t offset) override {
    const int n = static_cast<int>(size);
    const auto at = static_cast<MPI_Offset>(offset);
    MPI_Status status;
    int code;
    if (view_) {
      code = collective_ ? MPI_File_write_all(file_, data, n, MPI_BYTE, &status)
                         : MPI_File_write(file_, data, n, MPI_BYTE, &status);
    } else {
      code = collective_ ? MPI_File_write_at_all(file_, at, data, n, MPI_BYTE, &status)
                         : MPI_File_write_at(file_, at, data, n, MPI_BYTE, &status);
    }
    check(code, "MPI_File_write");
    check_count(status, n);
  }
  void read(void* data, std::uint64_t size, std::uint64_t offset) override {
    const int n = static_cast<int>(size);
    const auto at = static_cast<MPI_Offset>(offset);
    MPI_Status status;
    int code;
    if (view_) {
      code = collective_ ? MPI_File_read_all(file_, data, n, MPI_BYTE, &status)
                         : MPI_File_read(file_, data, n, MPI_BYTE, &status);
    } else {
      code = collective_ ? MPI_File_read_at_all(file_, at, data, n, MPI_BYTE, &status)
                         : MPI_File_read_at(file_, at, data, n, MPI_BYTE, &status);
    }
    check(code, "MPI_File_read");
    check_count(status, n);
  }
  void sync() override { check(MPI_File_sync(file_), "MPI_File_sync"); }
  void close() override { check(MPI_File_close(&file_), "MPI_File_close"); }

 private:
  static void check_count(const MPI_Status& status, int wanted) {
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    if (count != wanted) throw std::runtime_error("MPI_File_read/write: fewer bytes than asked");
  }
  MPI_File file_ = MPI_FILE_NULL;
  bool collective_;
  bool view_;
};

}  // namespace

std::unique_ptr<TestFile> open_file(const IorOptions& options, const std::string& path, bool writing,
                                    MPI_Comm comm, int view_rank, int view_ranks) {
  if (options.api == "POSIX") return std::make_unique<PosixFile>(path, writing);
  auto file = std::make_unique<MpiFile>(options, path, writing, comm);
  if (options.file_view) file->set_view(options, view_rank, view_ranks);
  return file;
}

}  // namespace bench
