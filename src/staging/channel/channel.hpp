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

// An argument of a function that a channel runs. Memory is copied: `in` before the call, `out` after it,
// `inout` both; the function gets a pointer to its copy. At most six of all kinds but reals, and eight reals.
struct Argument {
  channel::Value value;
  MemoryRange range;

  static Argument integer(std::uint64_t number) { return {{channel::Kind::integer, 0, number, 0}, {}}; }
  static Argument real(double number) {
    return {{channel::Kind::real, 0, std::bit_cast<std::uint64_t>(number), 0}, {}};
  }
  static Argument real(float number) {
    return {{channel::Kind::real, 0, std::bit_cast<std::uint32_t>(number), 0}, {}};
  }
  static Argument in(const MemoryRange& range) { return {{channel::Kind::in, 0, 0, range.bytes}, range}; }
  static Argument out(const MemoryRange& range) { return {{channel::Kind::out, 0, 0, range.bytes}, range}; }
  static Argument inout(const MemoryRange& range) {
    return {{channel::Kind::inout, 0, 0, range.bytes}, range};
  }
  // The function's millrace_call: send_data and recv_data reach the caller's memory by it.
  static Argument call() { return {{channel::Kind::call, 0, 0, 0}, {}}; }
};

// Runs functions of shared libraries on the host for a program whose data is in a device, one after the
// other, in a thread of this process or in a process of its own. If the function's process dies, the call
// returns an error. The caller waits without a bound. Thread safe: calls take turns. The pool outlives this
// object.
class Channel {
 public:
  enum class Library : std::uint64_t {};
  enum class Symbol : std::uint64_t {};

  static Result<std::unique_ptr<Channel>> in_thread(Pool& pool);
  // `program`: millrace-host.
  static Result<std::unique_ptr<Channel>> in_process(Pool& pool, const std::string& program);
  ~Channel();

  // `why` gets the loader's message.
  Result<Library> install(const std::string& path, std::string& why);
  Result<Symbol> find(Library library, const std::string& name, std::string& why);
  // Returns the function's result. `memory`: the device of send_data's and recv_data's addresses; null: this
  // process.
  Result<std::uint64_t> invoke(Symbol symbol, std::span<const Argument> arguments, Device* memory = nullptr);
  // Its functions must not be called any more.
  Status uninstall(Library library);

  pid_t process() const { return process_; }

 private:
  explicit Channel(Pool& pool) : pool_(pool) {}
  Status ask(const channel::Head& question, std::span<const std::byte> body, Device* memory, int timeout_ms);
  Status serve_function(Device* memory);
  Status pack(std::span<const Argument> arguments, std::vector<std::byte>& body);
  Status unpack(std::span<const Argument> arguments);

  Pool& pool_;
  std::mutex mutex_;                // one question at a time
  Fd socket_;                       // guarded by mutex_, as the members below
  channel::Head head_{};            // of the last message
  std::vector<std::byte> message_;  // its body
  Worker thread_;
  Fd thread_socket_;
  pid_t process_ = -1;
};

}  // namespace millrace::staging
