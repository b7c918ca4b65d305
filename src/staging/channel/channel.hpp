// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "staging/channel/wire.hpp"
#include "staging/memory_range.hpp"
#include "staging/worker.hpp"

namespace millrace::staging {

// An argument of a function that a channel runs. The function gets a pointer to a copy of the memory. The
// channel copies `in` before the call, `out` after it and `inout` at both times. A call has at most eight
// reals and six arguments of the other kinds.
struct Argument {
  channel::Value value;
  MemoryRange range;

  static Argument integer(std::uint64_t number) {
    return {{channel::ArgumentKind::integer, 0, number, 0}, {}};
  }
  static Argument real(double number) {
    return {{channel::ArgumentKind::real, 0, std::bit_cast<std::uint64_t>(number), 0}, {}};
  }
  static Argument real(float number) {
    return {{channel::ArgumentKind::real, 0, std::bit_cast<std::uint32_t>(number), 0}, {}};
  }
  static Argument in(const MemoryRange& range) {
    return {{channel::ArgumentKind::in, 0, 0, range.bytes}, range};
  }
  static Argument out(const MemoryRange& range) {
    return {{channel::ArgumentKind::out, 0, 0, range.bytes}, range};
  }
  static Argument inout(const MemoryRange& range) {
    return {{channel::ArgumentKind::inout, 0, 0, range.bytes}, range};
  }
  // The function gets a millrace_call, for send_data and recv_data to and from the caller's memory.
  static Argument call() { return {{channel::ArgumentKind::call, 0, 0, 0}, {}}; }
};

// Runs functions of shared libraries on the host, for a program whose data is in a device. The functions run
// one after the other, in a thread of this process or in a separate process. If that process dies, the call
// returns an error. The caller waits without a bound. Thread safe: calls take turns. The pool outlives this
// object.
class Channel {
 public:
  enum class LibraryId : std::uint64_t {};
  enum class Symbol : std::uint64_t {};

  static Result<std::unique_ptr<Channel>> in_thread(Pool& pool);
  // `program` is the path of millrace-host.
  static Result<std::unique_ptr<Channel>> in_process(Pool& pool, const std::string& program);
  ~Channel();

  // `why` gets the loader's message.
  Result<LibraryId> install(const std::string& path, std::string& why);
  Result<Symbol> find(LibraryId library, const std::string& name, std::string& why);
  // Returns the function's result. `memory` is the device to which the addresses of send_data and recv_data
  // belong; null: this process.
  Result<std::uint64_t> invoke(Symbol symbol, std::span<const Argument> arguments, Device* memory = nullptr);
  // After this, the library's functions must not be called.
  Status uninstall(LibraryId library);

  pid_t process() const { return process_; }

 private:
  explicit Channel(Pool& pool) : pool_(pool) {}
  Status ask(const channel::Head& question, std::span<const std::byte> body, Device* memory, int timeout_ms);
  Status serve_function(Device* memory);
  Status pack(std::span<const Argument> arguments, std::vector<std::byte>& body);
  Status unpack(std::span<const Argument> arguments);

  Pool& pool_;
  std::mutex mutex_;                // one question at a time
  Fd socket_;                       // guarded by mutex_, like the members below
  channel::Head head_{};            // the head of the last message
  std::vector<std::byte> message_;  // its body
  Worker thread_;
  Fd thread_socket_;
  pid_t process_ = -1;
};

}  // namespace millrace::staging
