// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "geofem/halo.hpp"

#include "common/mpi.hpp"

namespace bench::geofem {

Halo::Halo(const Domain& domain, const Layout& layout) {
  for (const Neighbour& neighbour : domain.neighbours()) {
    Side side;
    side.rank = neighbour.rank;
    for (const int number : neighbour.send) {
      side.rows.push_back(layout.new_of_old[static_cast<std::size_t>(number)]);
    }
    side.count = 3 * neighbour.count;
    side.first_value = 3 * static_cast<std::size_t>(domain.size() + neighbour.first_external);
    side.buffer.resize(3 * side.rows.size());
    sides_.push_back(std::move(side));
  }
  requests_.resize(2 * sides_.size(), MPI_REQUEST_NULL);
}

void Halo::start(double* x) {
  std::size_t next = 0;
  for (const Side& side : sides_) {
    check_mpi(MPI_Irecv(x + side.first_value, side.count, MPI_DOUBLE, side.rank, 0, MPI_COMM_WORLD,
                        &requests_[next++]),
              "MPI_Irecv");
  }
  for (Side& side : sides_) {
    double* out = side.buffer.data();
    for (const int row : side.rows) {
      for (std::size_t i = 0; i < 3; i++) *out++ = x[3 * static_cast<std::size_t>(row) + i];
    }
    check_mpi(MPI_Isend(side.buffer.data(), side.count, MPI_DOUBLE, side.rank, 0, MPI_COMM_WORLD,
                        &requests_[next++]),
              "MPI_Isend");
  }
}

void Halo::finish() {
  check_mpi(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
            "MPI_Waitall");
}

}  // namespace bench::geofem
