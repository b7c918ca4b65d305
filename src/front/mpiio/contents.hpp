// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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
