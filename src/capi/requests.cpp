// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The functions of millrace.h for asynchronous requests.
#include <limits>

#include "capi/enter.hpp"
#include "capi/file.hpp"

namespace {

using namespace millrace::capi;
using millrace::Result;
using millrace::Status;
using millrace::staging::AsyncRequests;
using millrace::staging::Moved;

// The objects that a transfer uses until the end of its wait.
class Uses {
 public:
  Uses(std::shared_ptr<OwnedFile> file, std::shared_ptr<OpenDevice> device)
      : file_(std::move(file)), device_(std::move(device)) {
    ++file_->requests;
  }
  Uses(const Uses&) = delete;
  Uses& operator=(const Uses&) = delete;
  ~Uses() { --file_->requests; }

 private:
  std::shared_ptr<OwnedFile> file_;
  std::shared_ptr<OpenDevice> device_;
};

// A request of the program: a context of staging::AsyncRequests, and the objects that its transfer uses.
// Thread safe.
class Request {
 public:
  using Handle = millrace_request;
  static constexpr HandleKind kind = HandleKind::request;

  explicit Request(AsyncRequests::ContextId context) : context_(context) {}

  Outcome begin(Library& library, bool reads, millrace_file* file, millrace_device* device,
                const void* address, std::uint64_t bytes, std::uint64_t offset) {
    HeldMemory memory;
    std::shared_ptr<OwnedFile> open = library.handles.find<OwnedFile>(file);
    if (open == nullptr || !HeldMemory::find(library.handles, device, address, bytes, memory))
      return Outcome::failed(EBADF);
    if (!fits_file(bytes, offset))
      return Outcome::failed(EINVAL, "the offset and the bytes go past 2^63 - 1");
    const int fd = open->descriptor();
    const std::lock_guard lock(mutex_);
    auto uses = std::make_shared<Uses>(std::move(open), std::move(memory.device));
    AsyncRequests& all = library.requests;
    const Status status =
        reads ? all.read(context_, fd, offset, memory.range) : all.write(context_, fd, offset, memory.range);
    if (status.code() == millrace::Code::invalid)
      return {status, "the request has a transfer: wait for it first"};
    if (status.ok()) uses_ = std::move(uses);
    return status;
  }

  Outcome query(Library& library) const {
    const Result<bool> over = library.requests.query(context_);
    return over ? Outcome(*over ? 1 : 0) : Outcome(over.status(), nothing_begun);
  }

  Outcome wait(Library& library, std::int64_t timeout_ms) {
    const std::shared_ptr<Uses> before = uses();
    const Result<bool> over =
        timeout_ms < 0 ? library.requests.query(context_)
                       : library.requests.over_within(context_, static_cast<std::uint64_t>(timeout_ms));
    if (!over) return {over.status(), nothing_begun};
    if (timeout_ms >= 0 && !*over) return Outcome::failed(ETIMEDOUT);
    const Moved moved = library.requests.wait(context_);
    done_with(before);
    return moved.bytes > 0 ? Outcome(static_cast<std::int64_t>(moved.bytes)) : Outcome(moved.status);
  }

  Status fini(Library& library) {
    const Status status = library.requests.fini(context_);
    if (status.ok()) done_with(uses());
    return status;
  }

 private:
  static constexpr const char* nothing_begun = "the request has no transfer to wait for";

  std::shared_ptr<Uses> uses() {
    const std::lock_guard lock(mutex_);
    return uses_;
  }
  // Releases the objects of an ended transfer. Another thread may already have begun the next one, whose
  // objects stay.
  void done_with(const std::shared_ptr<Uses>& before) {
    const std::lock_guard lock(mutex_);
    if (uses_ == before) uses_.reset();
  }

  const AsyncRequests::ContextId context_;
  std::mutex mutex_;
  std::shared_ptr<Uses> uses_;  // guarded by mutex_
};

}  // namespace

int millrace_request_init(millrace_request** request) {
  return guarded_int(__func__, [&]() -> Outcome {
    if (request == nullptr) return Outcome::failed(EINVAL, "request is NULL");
    Library& library = Library::get();
    const Result<AsyncRequests::ContextId> context = library.requests.init();
    if (!context)
      return {context.status(), "there are too many requests: end some with millrace_request_fini"};
    *request = library.handles.add(std::make_shared<Request>(*context));
    return 0;
  });
}

int millrace_request_write(millrace_request* request, millrace_file* file, millrace_device* device,
                           const void* from, std::uint64_t bytes, std::uint64_t offset) {
  return with_int<Request>(__func__, request, [=](Library& library, Request& open) {
    return open.begin(library, false, file, device, from, bytes, offset);
  });
}

int millrace_request_read(millrace_request* request, millrace_file* file, millrace_device* device, void* to,
                          std::uint64_t bytes, std::uint64_t offset) {
  return with_int<Request>(__func__, request, [=](Library& library, Request& open) {
    return open.begin(library, true, file, device, to, bytes, offset);
  });
}

int millrace_request_query(millrace_request* request) {
  return with_int<Request>(__func__, request,
                           [](Library& library, Request& open) { return open.query(library); });
}

std::int64_t millrace_request_wait(millrace_request* request, std::int64_t timeout_ms) {
  return with<Request>(__func__, request,
                       [=](Library& library, Request& open) { return open.wait(library, timeout_ms); });
}

int millrace_request_fini(millrace_request* request) {
  return with_int<Request>(__func__, request, [=](Library& library, Request& open) -> Outcome {
    const Status status = open.fini(library);
    if (status.code() == millrace::Code::timeout)
      return Outcome::failed(ETIMEDOUT, "its transfer still runs: call millrace_request_fini again");
    if (library.handles.take<Request>(request) == nullptr) return Outcome::failed(EBADF);
    return status;
  });
}
