// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"

namespace millrace::capi {

// The outcome of a call of the C API: a number of at least 0, or a negative errno with a text.
class Outcome {
 public:
  Outcome(std::int64_t value = 0) : value_(value) {}
  Outcome(Status status, std::string about = {});
  static Outcome failed(int error, std::string about = {}) {
    Outcome outcome(-static_cast<std::int64_t>(error));
    outcome.about_ = std::move(about);
    return outcome;
  }

  std::int64_t value() const { return value_; }
  const std::string& about() const { return about_; }

 private:
  std::int64_t value_;
  std::string about_;
};

// The text of millrace_explain() on this thread.
const char* explanation();
void explain(const char* call, int error, std::string_view about);

// Runs `body`, which returns an Outcome. No exception leaves this function, because the caller may be a C
// program.
template <class Body>
std::int64_t guarded(const char* call, const Body& body) noexcept {
  try {
    const Outcome outcome = body();
    if (outcome.value() < 0) explain(call, static_cast<int>(-outcome.value()), outcome.about());
    return outcome.value();
  } catch (const std::bad_alloc&) {
    explain(call, ENOMEM, {});
    return -ENOMEM;
  } catch (...) {
    explain(call, EIO, "an internal error of Millrace; the outcome of the call is unknown");
    return -EIO;
  }
}
template <class Body>
int guarded_int(const char* call, const Body& body) noexcept {
  return static_cast<int>(guarded(call, body));
}

}  // namespace millrace::capi
