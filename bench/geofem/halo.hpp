// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "geofem/domain.hpp"
#include "geofem/ordering.hpp"

namespace bench::geofem {

// Brings the values of external nodes from the ranks that own them. Not thread safe.
class Halo {
 public:
  Halo(const Domain& domain, const Layout& layout);

  // Between start and finish, `x` (own rows, then external nodes) must not be written.
  void start(double* x);
  void finish();

 private:
  struct Side {
    int rank = 0;
    std::vector<int> rows;
    std::vector<double> buffer;
    std::size_t first_value = 0;  // of the external nodes
    int count = 0;                // values each way
  };
  std::vector<Side> sides_;
  std::vector<MPI_Request> requests_;
};

}  // namespace bench::geofem
