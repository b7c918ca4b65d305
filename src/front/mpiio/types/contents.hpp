// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "front/mpiio/mpi.hpp"

namespace millrace::front {

// The constructor of a datatype and its arguments, from MPI_Type_get_envelope and MPI_Type_get_contents or
// their large-count variants. Frees the datatypes that these functions return.
class Contents {
 public:
  explicit Contents(MPI_Datatype type);
  ~Contents();
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  // False if the MPI library could not tell.
  bool ok() const { return ok_; }
  int combiner() const { return combiner_; }
  // A predefined type has no contents and is never freed.
  bool predefined() const { return is_predefined(combiner_); }

  // The arguments of the constructor, in the order of its parameter list. A count or an address is a large
  // count where the type was made by a large-count function.
  std::int64_t integer() { return at(integers_, next_integer_); }
  std::int64_t count() { return large_ ? at(counts_, next_count_) : integer(); }
  std::int64_t address() { return large_ ? at(counts_, next_count_) : at(addresses_, next_address_); }
  std::vector<std::int64_t> list_of_counts(std::int64_t n);

  // Many numbers in a row, where they are. They last until drop_numbers().
  class Numbers {
   public:
    std::int64_t operator[](std::size_t i) const {
      return integers_ != nullptr ? integers_[i] : addresses_ != nullptr ? addresses_[i] : counts_[i];
    }

   private:
    friend class Contents;
    const int* integers_ = nullptr;
    const MPI_Aint* addresses_ = nullptr;
    const MPI_Count* counts_ = nullptr;
  };
  // The next `n` counts or addresses. If there are fewer, complete() is false and the row is not to be read.
  Numbers row_of_counts(std::size_t n);
  Numbers row_of_addresses(std::size_t n);
  const std::vector<MPI_Datatype>& types() const { return types_; }
  // Frees the memory of the numbers, because a type may have millions of them.
  void drop_numbers();
  // False if the caller has taken more numbers than the type has.
  bool complete() const { return ok_; }

 private:
  static bool is_predefined(int combiner);
  template <class Number>
  std::int64_t at(const std::vector<Number>& list, std::size_t& next) {
    if (next < list.size()) return list[next++];
    ok_ = false;
    return 0;
  }
  template <class Number>
  const Number* row(const std::vector<Number>& list, std::size_t& next, std::size_t n) {
    ok_ = ok_ && n <= list.size() - next;
    if (!ok_) return nullptr;
    next += n;
    return list.data() + (next - n);
  }
  bool fetch(MPI_Datatype type);
  bool fetch_large(MPI_Datatype type);

  bool ok_ = false;
  bool large_ = false;
  int combiner_ = MPI_COMBINER_NAMED;
  std::size_t next_integer_ = 0;
  std::size_t next_address_ = 0;
  std::size_t next_count_ = 0;
  std::vector<int> integers_;
  std::vector<MPI_Aint> addresses_;
  std::vector<MPI_Count> counts_;
  std::vector<MPI_Datatype> types_;
};

}  // namespace millrace::front
