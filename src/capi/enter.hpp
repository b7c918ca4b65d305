// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "capi/handles.hpp"
#include "capi/library.hpp"
#include "capi/outcome.hpp"

// The functions of millrace.h begin with these templates.
namespace millrace::capi {

// `body` gets the library and the object of the handle, which lives at least until `body` returns.
template <class T, class Body>
std::int64_t with(const char* call, typename T::Handle* handle, const Body& body) noexcept {
  return guarded(call, [&]() -> Outcome {
    Library& library = Library::get();
    const std::shared_ptr<T> open = library.handles.find<T>(handle);
    if (open == nullptr) return Outcome::failed(EBADF);
    return body(library, *open);
  });
}

template <class T, class Body>
int with_int(const char* call, typename T::Handle* handle, const Body& body) noexcept {
  return static_cast<int>(with<T>(call, handle, body));
}

}  // namespace millrace::capi
