// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace millrace {

// The kind of an error. Every front end can translate it (MPI error class, errno, exit status). The values
// travel in frames between agent and client, so never renumber them.
enum class Code : std::uint32_t {
  ok = 0,
  invalid = 1,     // an invalid argument or setting
  no_space = 2,    // ENOSPC
  quota = 3,       // EDQUOT
  io = 4,          // EIO and every errno without a code of its own
  access = 5,      // EACCES, EPERM
  read_only = 6,   // EROFS
  not_found = 7,   // ENOENT
  lost_agent = 8,  // the agent has gone, or refuses this process
  lost_peer = 9,   // another rank of the file has gone before it closed
  timeout = 10,    // a bounded wait of this process ran out; never an errno, never from an agent
  corrupt = 11,    // a checksum or a format does not hold
  unsupported = 12,
  too_big = 13,  // EFBIG
  no_memory = 14,
  refused = 15,  // an agent of another node does not prove that it belongs to this job, or refuses this agent
};
inline constexpr Code last_code = Code::refused;

// The system's words for an errno value. They are in `room`, or constant.
inline const char* words_of_errno(int error, std::span<char> room) {
  return ::strerror_r(error, room.data(), room.size());
}

// The outcome of a call: a code, and the errno behind it (0 if there is none). A status has eight bytes, so
// it travels in a register; describe() makes the text on demand.
class [[nodiscard]] Status {
 public:
  constexpr Status() = default;
  constexpr Status(Code code, int error = 0) : code_(code), error_(error) {}

  // Maps an errno value to a status. This is the only such mapping. 0 is ok.
  static Status from_errno(int error);

  constexpr bool ok() const { return code_ == Code::ok; }
  constexpr Code code() const { return code_; }
  constexpr int error() const { return error_; }

  // One sentence for the user: the error, and what to do if that is known.
  std::string describe() const;

  friend constexpr bool operator==(Status, Status) = default;

 private:
  Code code_ = Code::ok;
  int error_ = 0;
};

// A value, or the status with the reason why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(status) {}
  Result(Code code, int error = 0) : status_(code, error) {}

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  Status status() const { return status_; }

  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace millrace
