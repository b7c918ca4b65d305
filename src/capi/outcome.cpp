// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "capi/outcome.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <iterator>

namespace millrace::capi {

namespace {

constexpr std::size_t text_max = 512;
constinit thread_local char last_text[text_max] = "";  // NOLINT(bugprone-dynamic-static-initializers)

int errno_of(Status status) {
  // In the API, ETIMEDOUT means that the caller may wait again. After a timeout inside the library, the
  // caller cannot wait again.
  if (status.error() == ETIMEDOUT || status.code() == Code::timeout) return EIO;
  if (status.error() != 0) return status.error();
  switch (status.code()) {
    case Code::invalid:
      return EINVAL;
    case Code::not_found:
      return ENOENT;
    case Code::unsupported:
      return ENOTSUP;
    case Code::too_big:
      return E2BIG;
    case Code::no_memory:
      return ENOMEM;
    case Code::corrupt:
      return EBADMSG;
    default:
      return EIO;
  }
}

// The cause, or the next step of the user, for errnos that do not explain themselves.
const char* advice(int error) {
  switch (error) {
    case EBADF:
      return "no such handle is open: it was closed before, is of another kind, or belongs to the parent "
             "process";
    case EFAULT:
      return "no such memory: a wrong address or length, memory of another device, or a device from before "
             "fork()";
    case ENOSPC:
      return "the file system is full: free some space, then write again";
    case EDQUOT:
      return "the disk quota is used up: free some space, then write again";
    case ESRCH:
      return "the process of this object has gone";
    case ETIMEDOUT:
      return "the operation goes on: wait again";
    default:
      return nullptr;
  }
}

}  // namespace

Outcome::Outcome(Status status, std::string about) : value_(0) {
  if (status.ok()) return;
  value_ = -errno_of(status);
  about_ = std::move(about);
  if (about_.empty() && status.code() == Code::timeout)
    about_ = "a copy made no progress within MILLRACE_TIMEOUT";
}

const char* explanation() { return last_text; }

void explain(const char* call, int error, std::string_view about) {
  std::array<char, 128> room{};
  const char* todo = advice(error);
  if (about.empty() && todo != nullptr) about = todo;
  (void)snprintf(last_text, text_max, "%s: %s%s%.*s", call, words_of_errno(error, room),
                 about.empty() ? "" : ": ", static_cast<int>(std::min(about.size(), text_max)), about.data());
  std::replace(std::begin(last_text), std::begin(last_text) + std::strlen(last_text), '\n', ' ');
}

}  // namespace millrace::capi
