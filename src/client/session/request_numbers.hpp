// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "transport/layout.hpp"

namespace millrace::client {

// The numbers of one session's requests. A number says in which slot its answer comes: number modulo
// reply_slots. No number is 0, which stands for no request, and none is that of the slot's last answer: the
// numbers begin anew after 2^32. Not thread safe.
class RequestNumbers {
 public:
  explicit RequestNumbers(std::uint32_t generation = 1) : generation_(generation) {}

  // Empty while answers are awaited in all slots.
  std::optional<std::uint32_t> take(const transport::ReplySlot* replies) {
    for (std::uint32_t slot = 0; slot < transport::reply_slots; ++slot) {
      if ((busy_ & (1u << slot)) != 0) continue;
      busy_ |= 1u << slot;
      const std::uint32_t last = replies[slot].done.load(std::memory_order_acquire);
      std::uint32_t number = 0;
      do {
        number = generation_++ * transport::reply_slots + slot;
      } while (number == 0 || number == last);
      return number;
    }
    return std::nullopt;
  }
  // Its answer has come, or it was not sent.
  void give_back(std::uint32_t number) { busy_ &= ~(1u << (number % transport::reply_slots)); }

 private:
  std::uint32_t busy_ = 0;  // one bit per slot
  std::uint32_t generation_;
};

}  // namespace millrace::client
