// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "base/settings.hpp"

// The messages between a channel and its server, over a stream socket on one host. A question has one answer.
// While a function runs, it may ask questions itself.
//
//   Head [ body: Head::bytes ]
namespace millrace::staging::channel {

enum class Op : std::uint32_t {
  install = 1,    // body: path               -> id
  find = 2,       // id: library, body: name  -> id
  uninstall = 3,  // id: library
  invoke = 4,     // id: symbol, body: see below
  answer = 5,     // id; error; body: text if there is an error, or what invoke wrote
  send_data = 6,  // from the function: id = address, body: the bytes  -> answer
  recv_data = 7,  // from the function: id = address, size             -> answer with the bytes
};

struct Head {
  Op op;
  std::int32_t error;  // an errno, of answers
  std::uint64_t id;
  std::uint64_t size;
  std::uint64_t bytes;
};
static_assert(sizeof(Head) == 32);

// The body of invoke: `size` Values, then the bytes of the memory arguments, one after the other. The
// answer's body has the bytes of the written ones, likewise; its id is the function's result.
enum class Kind : std::uint32_t { integer, real, in, out, inout, call };
struct Value {
  Kind kind;
  std::uint32_t unused;
  std::uint64_t bits;   // of integer and real
  std::uint64_t bytes;  // of memory
};
static_assert(sizeof(Value) == 24);

// The arguments that registers hold: 6 numbers or pointers, 8 floating-point numbers.
inline constexpr std::size_t integers_max = 6;
inline constexpr std::size_t reals_max = 8;
inline constexpr std::uint64_t name_max = 4096;
inline constexpr std::uint64_t body_max = 256 * MiB;  // more goes by send_data and recv_data
inline constexpr std::uint64_t data_max =
    1 * MiB;  // of one send_data or recv_data; functions ask as often as needed

constexpr bool carries_in(Kind kind) { return kind == Kind::in || kind == Kind::inout; }
constexpr bool carries_out(Kind kind) { return kind == Kind::out || kind == Kind::inout; }
constexpr bool is_memory(Kind kind) { return carries_in(kind) || carries_out(kind); }

// Moves a whole message. ESRCH: the other end has gone; ETIMEDOUT: no byte came for `timeout_ms` (-1: no
// bound).
Status put(int socket, const Head& head, std::span<const std::byte> body);
Status get(int socket, Head& head, std::vector<std::byte>& body, int timeout_ms);

}  // namespace millrace::staging::channel
