// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The functions of millrace.h for files.
#include <fcntl.h>

#include "capi/enter.hpp"
#include "capi/file.hpp"

namespace {

using namespace millrace::capi;

// Passes the file and the memory of a transfer to `body`.
template <class Body>
std::int64_t transfer(const char* call, millrace_file* file, millrace_device* device, const void* address,
                      std::uint64_t bytes, std::uint64_t offset, const Body& body) {
  return with<OwnedFile>(call, file, [&](Library& library, OwnedFile& open) -> Outcome {
    HeldMemory memory;
    if (!HeldMemory::find(library.handles, device, address, bytes, memory)) return Outcome::failed(EBADF);
    if (!fits_file(bytes, offset))
      return Outcome::failed(EINVAL, "the offset and the bytes go past 2^63 - 1");
    return body(open, memory);
  });
}

}  // namespace

int millrace_open(const char* path, int flags, unsigned permissions, millrace_file** file) {
  return guarded_int(__func__, [&]() -> Outcome {
    if (path == nullptr || file == nullptr) return Outcome::failed(EINVAL, "path or file is NULL");
    Outcome outcome;
    const auto open = OwnedFile::open(path, flags, permissions, outcome);
    if (open != nullptr) *file = Library::get().handles.add(open);
    return outcome;
  });
}

int millrace_adopt(int descriptor, millrace_file** file) {
  return guarded_int(__func__, [&]() -> Outcome {
    if (file == nullptr) return Outcome::failed(EINVAL, "file is NULL");
    if (::fcntl(descriptor, F_GETFD) < 0) return Outcome::failed(EBADF, "no such descriptor is open");
    *file = Library::get().handles.add(std::make_shared<OwnedFile>(millrace::Fd::of_program(descriptor)));
    return 0;
  });
}

int millrace_descriptor(millrace_file* file) {
  return with_int<OwnedFile>(__func__, file,
                             [](Library&, OwnedFile& open) -> Outcome { return open.descriptor(); });
}

int millrace_close(millrace_file* file) {
  return guarded_int(__func__, [&]() -> Outcome {
    Library& library = Library::get();
    {
      const auto open = library.handles.find<OwnedFile>(file);
      if (open == nullptr) return Outcome::failed(EBADF);
      if (open->requests > 0)
        return Outcome::failed(EBUSY, "a request of the file is not finished: wait for it first");
    }
    const auto open = library.handles.take<OwnedFile>(file);
    if (open == nullptr) return Outcome::failed(EBADF);
    // If another thread's call still uses the file, its descriptor is closed at the end of that call.
    return open.use_count() == 1 ? open->close() : Outcome();
  });
}

std::int64_t millrace_write(millrace_file* file, millrace_device* device, const void* from,
                            std::uint64_t bytes) {
  return transfer(__func__, file, device, from, bytes, 0,
                  [](OwnedFile& open, const HeldMemory& memory) { return open.write(memory, {}); });
}

std::int64_t millrace_write_at(millrace_file* file, millrace_device* device, const void* from,
                               std::uint64_t bytes, std::uint64_t offset) {
  return transfer(__func__, file, device, from, bytes, offset,
                  [=](OwnedFile& open, const HeldMemory& memory) { return open.write(memory, offset); });
}

std::int64_t millrace_read(millrace_file* file, millrace_device* device, void* to, std::uint64_t bytes) {
  return transfer(__func__, file, device, to, bytes, 0,
                  [](OwnedFile& open, const HeldMemory& memory) { return open.read(memory, {}); });
}

std::int64_t millrace_read_at(millrace_file* file, millrace_device* device, void* to, std::uint64_t bytes,
                              std::uint64_t offset) {
  return transfer(__func__, file, device, to, bytes, offset,
                  [=](OwnedFile& open, const HeldMemory& memory) { return open.read(memory, offset); });
}

std::int64_t millrace_seek(millrace_file* file, std::int64_t offset, int whence) {
  return with<OwnedFile>(__func__, file,
                         [=](Library&, OwnedFile& open) { return open.seek(offset, whence); });
}

std::int64_t millrace_size(millrace_file* file) {
  return with<OwnedFile>(__func__, file, [](Library&, OwnedFile& open) { return open.size(); });
}

int millrace_truncate(millrace_file* file, std::uint64_t bytes) {
  return with_int<OwnedFile>(__func__, file, [=](Library&, OwnedFile& open) { return open.truncate(bytes); });
}

int millrace_sync(millrace_file* file) {
  return with_int<OwnedFile>(__func__, file, [](Library&, OwnedFile& open) { return open.sync(); });
}
