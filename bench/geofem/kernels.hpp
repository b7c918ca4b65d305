// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "geofem/matrix.hpp"

// The loops that take the time, each over rows [begin, end) of one thread; vectors have three values per row.
// They are compiled for several instruction sets, and the best one is chosen when the program starts.
namespace bench::geofem {

// y = (diagonal + lower + upper) x
void multiply(const MatrixView& a, const double* x, double* y, int begin, int end);

// y += outside x
void multiply_outside(const MatrixView& a, const double* x, double* y, int begin, int end);

// z = inverse (r - lower z)
void forward(const MatrixView& a, const double* r, double* z, int begin, int end);

// z -= inverse (upper z), from the last row to the first
void backward(const MatrixView& a, double* z, int begin, int end);

// Over plain values. The sum of a b.
double dot(const double* a, const double* b, std::size_t begin, std::size_t end);

// p = z + beta p
void direction(const double* z, double beta, double* p, std::size_t begin, std::size_t end);

// x += alpha p, r -= alpha q; the sum of r r.
double step(double alpha, const double* p, const double* q, double* x, double* r, std::size_t begin,
            std::size_t end);

// For the limit: a = b + scale c, and the sum of all values.
void triad(double* a, const double* b, const double* c, double scale, std::size_t begin, std::size_t end);
double sum(const double* a, std::size_t begin, std::size_t end);

}  // namespace bench::geofem
