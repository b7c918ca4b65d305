// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "geofem/solver.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/mpi.hpp"
#include "geofem/kernels.hpp"
#include "geofem/team.hpp"

namespace bench::geofem {
Solver::Solver(const Matrix& a, const Layout& layout, Halo& halo, long externals)
    : a_(a),
      view_(a.view()),
      layout_(layout),
      halo_(halo),
      values_(3 * static_cast<std::size_t>(a.rows)),
      external_values_(3 * static_cast<std::size_t>(externals)),
      x_(vector(values_ + external_values_)),
      r_(vector(values_)),
      z_(vector(values_)),
      p_(vector(values_ + external_values_)),
      q_(vector(values_)) {}

std::unique_ptr<double[]> Solver::vector(std::size_t values) const {
  auto made = untouched<double>(values);
  on_threads(layout_.threads,
             [&](int thread) { std::fill(made.get() + begin(thread), made.get() + end(thread), 0.0); });
  std::fill(made.get() + values_, made.get() + values, 0.0);
  return made;
}

void Solver::lap(double Solution::*part) {
  const double now = now_s();
  now_.*part += now - last_lap_;
  last_lap_ = now;
}

double Solver::all_sum(const std::vector<double>& parts) {
  double own = std::accumulate(parts.begin(), parts.end(), 0.0), all = 0;
  lap(&Solution::vectors_s);
  check_mpi(MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), "MPI_Allreduce");
  lap(&Solution::communication_s);
  return all;
}

double Solver::dot(const double* a, const double* b) {
  std::vector<double> parts(static_cast<std::size_t>(layout_.threads));
  on_threads(layout_.threads, [&](int thread) {
    parts[static_cast<std::size_t>(thread)] = geofem::dot(a, b, begin(thread), end(thread));
  });
  return all_sum(parts);
}

// z = M^-1 r
void Solver::precondition() {
  const int colours = layout_.colours;
  in_steps(layout_.threads, 2 * colours, [&](int thread, int step) {
    if (step < colours) {
      forward(view_, r_.get(), z_.get(), layout_.begin(thread, step), layout_.end(thread, step));
    } else {
      const int colour = 2 * colours - 1 - step;
      backward(view_, z_.get(), layout_.begin(thread, colour), layout_.end(thread, colour));
    }
  });
  lap(&Solution::preconditioner_s);
}

// y = A x; the values of others come while the own part is computed.
void Solver::product(double* x, double* y) {
  halo_.start(x);
  lap(&Solution::communication_s);
  on_threads(layout_.threads,
             [&](int thread) { multiply(view_, x, y, layout_.begin(thread), layout_.end(thread)); });
  lap(&Solution::product_s);
  halo_.finish();
  lap(&Solution::communication_s);
  if (external_values_ == 0) return;
  on_threads(layout_.threads,
             [&](int thread) { multiply_outside(view_, x, y, layout_.begin(thread), layout_.end(thread)); });
  lap(&Solution::product_s);
}

void Solver::start(const std::vector<double>& load) {
  on_threads(layout_.threads, [&](int thread) {
    std::copy(load.data() + begin(thread), load.data() + end(thread), r_.get() + begin(thread));
    for (double* values : {x_.get(), p_.get(), z_.get()}) {
      std::fill(values + begin(thread), values + end(thread), 0.0);
    }
  });
}

// The square of |load - A x|.
double Solver::rest_of(const std::vector<double>& load) {
  product(x_.get(), q_.get());
  std::vector<double> parts{0};
  for (std::size_t i = 0; i < values_; i++) parts[0] += (load[i] - q_[i]) * (load[i] - q_[i]);
  return all_sum(parts);
}

void Solver::iterate(double& rho, double& rest) {
  precondition();
  const double last = rho;
  rho = dot(r_.get(), z_.get());
  const double beta = now_.iterations == 0 ? 0 : rho / last;
  on_threads(layout_.threads,
             [&](int thread) { geofem::direction(z_.get(), beta, p_.get(), begin(thread), end(thread)); });
  lap(&Solution::vectors_s);
  product(p_.get(), q_.get());
  const double alpha = rho / dot(p_.get(), q_.get());
  std::vector<double> parts(static_cast<std::size_t>(layout_.threads));
  on_threads(layout_.threads, [&](int thread) {
    parts[static_cast<std::size_t>(thread)] =
        step(alpha, p_.get(), q_.get(), x_.get(), r_.get(), begin(thread), end(thread));
  });
  rest = all_sum(parts);
  now_.iterations++;
}

Solution Solver::solve(const std::vector<double>& load, double tolerance, long most_iterations) {
  start(load);
  const double first = dot(r_.get(), r_.get());
  const double enough = tolerance * tolerance * first;
  double rest = first, rho = 0;
  check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  now_ = {};
  const double began = last_lap_ = now_s();
  while (rest > enough && now_.iterations < most_iterations) iterate(rho, rest);
  now_.seconds = now_s() - began;
  Solution solution = now_;
  solution.converged = rest <= enough;
  solution.residual = first > 0 ? std::sqrt(rest_of(load) / first) : 0;
  return solution;
}

double Solver::flops() const {
  const auto rows = static_cast<double>(a_.rows);
  const auto inner = static_cast<double>(a_.lower.blocks + a_.upper.blocks);
  const auto all = inner + static_cast<double>(a_.outside.blocks) + rows;
  // A block times a vector: 9 products and 9 sums. The preconditioner has each inner block once, two inverse
  // blocks and two differences per row. Vectors: three products (2 per value), three updates (2 per value).
  return 18 * all + 18 * inner + (2 * 18 + 2 * 3) * rows + 6 * 6 * rows;
}

double Solver::bytes() const {
  const auto rows = static_cast<double>(a_.rows);
  const auto inner = static_cast<double>(a_.lower.blocks + a_.upper.blocks);
  const auto outside = static_cast<double>(a_.outside.blocks);
  const double block = 9 * sizeof(double) + sizeof(int), row_start = sizeof(std::uint32_t);
  const double value = 3 * sizeof(double), dense = 9 * sizeof(double);
  const double externals = outside > 0 ? static_cast<double>(external_values_) * sizeof(double) : 0;
  // Product: all blocks, diagonal, x and y. Substitutions: inner blocks, the inverses twice; r, z; z read and
  // written.
  const double product = (inner + outside) * block + rows * (dense + 3 * row_start + 2 * value) + externals;
  const double substitution = inner * block + rows * (2 * dense + 2 * row_start + 4 * value);
  // r.z; p = z + beta p; p.q; x and r updated from p and q.
  const double vectors = rows * value * (2 + 3 + 2 + 6);
  return product + substitution + vectors;
}

std::uint64_t Solver::memory() const {
  return a_.bytes() + (5 * values_ + 2 * external_values_) * sizeof(double);
}

}  // namespace bench::geofem
