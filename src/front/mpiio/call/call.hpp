// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/call/arguments.hpp"

namespace millrace::front {

// The result of a way that cannot read the bytes: at most the memory of the read has changed, and the
// individual pointer. Another way follows (way.cpp). No MPI error has this number.
constexpr int unread = -1;

// One transfer of the program on an open file. One of the file's ways carries it out, and complete() gives
// the program its status, request or split collective. For one thread.
struct Call {
  Open& open;
  const Row& row;
  const Arguments& a;

  bool measured = false;  // then the following is known
  const client::TypeMap* memory = nullptr;
  std::uint64_t position = 0;  // of the first byte in the view's data
  std::uint64_t bytes = 0;
  Extent hull = {};        // of these bytes in the file
  bool one_piece = false;  // the bytes fill their hull, in order
  bool settled = false;    // settle() has been called

  bool writes() const { return row.direction == Direction::write; }
  bool nonblocking() const { return row.completion == Completion::nonblocking; }
  // True if the ranks of the file are in this call together, until it returns.
  bool meets() const { return row.coordination == Coordination::collective && !nonblocking(); }
  bool moves_pointer() const { return row.position == Position::individual; }

  // True if the arguments are sound and ask for no bytes.
  bool is_empty() const {
    return a.count >= 0 && a.offset >= 0 && a.map != nullptr && a.map->valid() &&
           (a.count == 0 || a.map->size == 0) && (!nonblocking() || a.request != nullptr);
  }
  // The bytes that the arguments ask for; 0 if that is unknown.
  std::uint64_t asked() const {
    return a.count > 0 && a.map != nullptr ? a.map->size * static_cast<std::uint64_t>(a.count) : 0;
  }
  // Computes the bytes of the transfer and their place in the file. False: the arguments are wrong, or there
  // is no map. The library reports wrong arguments. The individual pointer does not move.
  bool measure();
  // The same, and the memory is sound, and so is the place for the request.
  bool sound();
  // The bytes of the file that the call may touch; everything if that is unknown.
  Extent touched();
  // Brings pending bytes to the file before the call touches `extent`. Once: another way that follows has
  // them there.
  Status settle(Extent extent);
  // The individual pointer, if the call uses it, moves past the bytes. Another thread may have moved it since
  // measure(), so the place in the file may be another one now.
  void reserve();
  // Takes that back, after a transfer that moved fewer bytes.
  void give_back(std::uint64_t moved = 0);

  client::PieceSource pieces() const;
  std::uint64_t estimate_pieces() const;

  // Completes the call after `moved` bytes have left the program's memory, or have come.
  int complete(std::uint64_t moved) const;

 private:
  void place();
};

}  // namespace millrace::front
