// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The functions of millrace.h for the library as a whole and for devices.
#include <algorithm>
#include <cstring>

#include "base/checksum.hpp"
#include "capi/enter.hpp"
#include "capi/memory.hpp"

using namespace millrace::capi;
using millrace::Status;
namespace staging = millrace::staging;

int millrace_api_version() { return MILLRACE_API_VERSION; }

const char* millrace_explain() { return explanation(); }

int millrace_get_counts(millrace_counts* counts, std::uint64_t bytes) {
  return guarded_int(__func__, [=]() -> Outcome {
    if (counts == nullptr || bytes == 0) return Outcome::failed(EINVAL, "counts is NULL, or bytes 0");
    Library& library = Library::get();
    const staging::Pool::Counts pool = library.pool.counts();
    const millrace_counts now{library.handles.count(), pool.bytes,  pool.peak_bytes, pool.narrow,
                              pool.unpinned,           pool.retired};
    std::memset(counts, 0, bytes);
    std::memcpy(counts, &now, std::min<std::uint64_t>(bytes, sizeof now));
    return 0;
  });
}

std::uint64_t millrace_checksum(const void* data, std::uint64_t bytes) {
  return millrace::checksum(data, bytes);
}

int millrace_device_open(const char* which, millrace_device** device) {
  return guarded_int(__func__, [=]() -> Outcome {
    if (which == nullptr || device == nullptr) return Outcome::failed(EINVAL, "which or device is NULL");
    Library& library = Library::get();
    Outcome outcome;
    const auto open = OpenDevice::open(library, which, outcome);
    if (open != nullptr) *device = library.handles.add(open);
    return outcome;
  });
}

int millrace_device_close(millrace_device* device) {
  return guarded_int(__func__, [=]() -> Outcome {
    return Library::get().handles.take<OpenDevice>(device) != nullptr ? Outcome() : Outcome::failed(EBADF);
  });
}

int millrace_alloc(millrace_device* device, std::uint64_t bytes, void** address) {
  return with_int<OpenDevice>(__func__, device, [=](Library&, OpenDevice& open) -> Outcome {
    if (address == nullptr) return Outcome::failed(EINVAL, "address is NULL");
    return open.allocate(bytes, *address);
  });
}

int millrace_free(millrace_device* device, void* address) {
  return with_int<OpenDevice>(__func__, device,
                              [=](Library&, OpenDevice& open) -> Outcome { return open.release(address); });
}

namespace {

template <class Copy>
int copy_now(const char* call, millrace_device* device, const void* address, const void* host,
             std::uint64_t bytes, const Copy& copy) {
  return with_int<OpenDevice>(call, device, [&](Library& library, OpenDevice& open) -> Outcome {
    if (host == nullptr && bytes > 0) return Outcome::failed(EFAULT, "the host's memory is NULL");
    const staging::MemoryRange range{&open.get(), staging::address_of(address), bytes};
    const Status status = copy(library.pool, range);
    return {status, status.error() == EIO ? open.get().explain() : ""};
  });
}

}  // namespace

int millrace_read_mem(millrace_device* device, void* host, const void* from, std::uint64_t bytes) {
  return copy_now(__func__, device, from, host, bytes,
                  [=](staging::Pool& pool, const staging::MemoryRange& range) {
                    return copy_from(pool, range, {static_cast<std::byte*>(host), bytes});
                  });
}

int millrace_write_mem(millrace_device* device, void* to, const void* host, std::uint64_t bytes) {
  return copy_now(__func__, device, to, host, bytes,
                  [=](staging::Pool& pool, const staging::MemoryRange& range) {
                    return copy_to(pool, range, {static_cast<const std::byte*>(host), bytes});
                  });
}
