// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace bench {

// A loop over arrays: a from b and c. `arrays` counts the arrays that the loop touches, as STREAM counts:
// without the fetch before a write. Plain stores fetch the line that they write; streaming stores do not.
struct Kernel {
  const char* loop;  // read, copy, scale, add, triad
  const char* form;  // plain, 4 streams, streaming
  unsigned arrays;
  bool reads_only;
  double (*run)(double* a, const double* b, const double* c,
                std::size_t count);  // a sum, if it only reads
  double (*expected)(double b, double c);
};

std::span<const Kernel> kernels();

}  // namespace bench
