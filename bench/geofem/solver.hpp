// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "geofem/halo.hpp"
#include "geofem/matrix.hpp"

namespace bench::geofem {

// The costs of one solution. Times are those of this rank; they add up to `seconds`.
struct Solution {
  long iterations = 0;
  bool converged = false;
  double residual = 0;  // |b - A x| / |b|, computed anew at the end
  double seconds = 0, preconditioner_s = 0, product_s = 0, vectors_s = 0, communication_s = 0;
};

// Conjugate gradients, preconditioned by symmetric Gauss-Seidel: (D + L) inverse(D) (D + U) of the rank's own
// block of the matrix, additive Schwarz without overlap. All ranks together; one object solves again and
// again.
class Solver {
 public:
  Solver(const Matrix& a, const Layout& layout, Halo& halo, long externals);

  // `load`: three values per row, in the layout's order.
  Solution solve(const std::vector<double>& load, double tolerance, long most_iterations);

  const double* displacement() const { return x_.get(); }

  // Of one iteration, of this rank: counted operations, and the bytes that pass through memory if nothing
  // stays in a cache from one pass over the matrix or the vectors to the next.
  double flops() const;
  double bytes() const;
  std::uint64_t memory() const;  // of matrix and vectors

 private:
  std::unique_ptr<double[]> vector(std::size_t values) const;
  void start(const std::vector<double>& load);
  void iterate(double& rho, double& rest);
  void precondition();
  void product(double* x, double* y);
  double dot(const double* a, const double* b);
  // The sum over threads and ranks.
  double all_sum(const std::vector<double>& parts);
  double rest_of(const std::vector<double>& load);
  // Adds the time since the last lap to a part of the solution's.
  void lap(double Solution::*part);
  std::size_t begin(int thread) const { return 3 * static_cast<std::size_t>(layout_.begin(thread)); }
  std::size_t end(int thread) const { return 3 * static_cast<std::size_t>(layout_.end(thread)); }

  const Matrix& a_;
  const MatrixView view_;
  const Layout& layout_;
  Halo& halo_;
  std::size_t values_, external_values_;
  std::unique_ptr<double[]> x_, r_, z_, p_, q_;
  Solution now_;
  double last_lap_ = 0;
};

}  // namespace bench::geofem
