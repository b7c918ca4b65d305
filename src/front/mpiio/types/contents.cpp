// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/types/contents.hpp"

// Weak symbols: the MPI library at run time may be older than the header, and lack the large-count functions.
extern "C" {
int PMPI_Type_get_envelope_c(MPI_Datatype, MPI_Count*, MPI_Count*, MPI_Count*, MPI_Count*, int*)
    __attribute__((weak));
int PMPI_Type_get_contents_c(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int[], MPI_Aint[],
                             MPI_Count[], MPI_Datatype[]) __attribute__((weak));
}

namespace millrace::front {

Contents::Contents(MPI_Datatype type) {
  const bool have_large = PMPI_Type_get_envelope_c != nullptr && PMPI_Type_get_contents_c != nullptr;
  ok_ = have_large ? fetch_large(type) : fetch(type);
}

Contents::~Contents() {
  for (MPI_Datatype& type : types_) {
    int integers = 0;
    int addresses = 0;
    int types = 0;
    int combiner = MPI_COMBINER_NAMED;
    // A type made by a large-count function has no plain envelope, and is certainly not predefined.
    if (PMPI_Type_get_envelope_c != nullptr) {
      MPI_Count i = 0, a = 0, c = 0, t = 0;
      if (PMPI_Type_get_envelope_c(type, &i, &a, &c, &t, &combiner) != MPI_SUCCESS) continue;
    } else if (PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS) {
      continue;
    }
    if (!is_predefined(combiner)) PMPI_Type_free(&type);
  }
}

bool Contents::is_predefined(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

bool Contents::fetch(MPI_Datatype type) {
  int integers = 0;
  int addresses = 0;
  int types = 0;
  if (PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner_) != MPI_SUCCESS) return false;
  if (predefined()) return true;
  // One element more than needed, because a vector of size 0 has no address.
  integers_.resize(static_cast<std::size_t>(integers) + 1);
  addresses_.resize(static_cast<std::size_t>(addresses) + 1);
  std::vector<MPI_Datatype> t(static_cast<std::size_t>(types) + 1);
  if (PMPI_Type_get_contents(type, integers, addresses, types, integers_.data(), addresses_.data(),
                             t.data()) != MPI_SUCCESS)
    return false;
  integers_.pop_back();
  addresses_.pop_back();
  types_.assign(t.begin(), t.end() - 1);
  return true;
}

bool Contents::fetch_large(MPI_Datatype type) {
  MPI_Count integers = 0;
  MPI_Count addresses = 0;
  MPI_Count counts = 0;
  MPI_Count types = 0;
  if (PMPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner_) != MPI_SUCCESS)
    return false;
  if (predefined()) return true;
  integers_.resize(static_cast<std::size_t>(integers) + 1);
  addresses_.resize(static_cast<std::size_t>(addresses) + 1);
  counts_.resize(static_cast<std::size_t>(counts) + 1);
  std::vector<MPI_Datatype> t(static_cast<std::size_t>(types) + 1);
  if (PMPI_Type_get_contents_c(type, integers, addresses, counts, types, integers_.data(), addresses_.data(),
                               counts_.data(), t.data()) != MPI_SUCCESS)
    return false;
  integers_.pop_back();
  addresses_.pop_back();
  counts_.pop_back();
  types_.assign(t.begin(), t.end() - 1);
  large_ = counts > 0;
  return true;
}

std::vector<std::int64_t> Contents::list_of_counts(std::int64_t n) {
  std::vector<std::int64_t> list;
  for (std::int64_t i = 0; i < n && ok_; ++i) list.push_back(count());
  return list;
}

Contents::Numbers Contents::row_of_counts(std::size_t n) {
  Numbers all;
  if (large_) {
    all.counts_ = row(counts_, next_count_, n);
  } else {
    all.integers_ = row(integers_, next_integer_, n);
  }
  return all;
}

Contents::Numbers Contents::row_of_addresses(std::size_t n) {
  if (large_) return row_of_counts(n);
  Numbers all;
  all.addresses_ = row(addresses_, next_address_, n);
  return all;
}

void Contents::drop_numbers() {
  integers_ = {};
  addresses_ = {};
  counts_ = {};
}

}  // namespace millrace::front
