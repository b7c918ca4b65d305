// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

// Random nested datatypes made by every constructor of MPI. Used by the tests of type maps and by the
// differential test; deterministic for a seed and an MPI library.
class RandomType {
 public:
  // `everything`: also what ROMIO of MPICH 4.0 cannot use in files: types made by the constructors of MPI 4
  // that end in _c fail there, pairs with holes (MPI_DOUBLE_INT) make it wait for ever.
  // `misplaced`: filetypes of the kinds that ROMIO before MPICH 4.1 misplaces (placing.hpp).
  RandomType(std::uint64_t seed, bool everything, bool misplaced = false)
      : random_(seed), everything_(everything), misplaced_(misplaced) {}

  std::int64_t range(std::int64_t low, std::int64_t high) {
    // Not a std::uniform_int_distribution: its results differ between standard libraries.
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }

  // A committed type, to be freed by the caller. `file`: one that may be a filetype: ascending, without
  // overlaps, and not shorter than its data. `largest`: bytes of data, about.
  MPI_Datatype make(int depth, bool file, MPI_Count largest = 4096) {
    largest_ = largest;
    MPI_Datatype type = nested(depth, file);
    if (file) trim(type);
    MPI_Type_commit(&type);
    return type;
  }

 private:
  struct Shape {
    MPI_Count size = 0;
    MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  };

  static Shape shape(MPI_Datatype type) {
    Shape s;
    MPI_Type_size_x(type, &s.size);
    MPI_Type_get_extent(type, &s.lower, &s.extent);
    if (s.size > 0) MPI_Type_get_true_extent(type, &s.true_lower, &s.true_extent);
    return s;
  }

  // The extent must hold the data, and data begin at 0 or behind.
  static void trim(MPI_Datatype& type) {
    const Shape s = shape(type);
    if (s.size == 0 || (s.true_lower >= 0 && s.extent >= s.true_extent)) return;
    const MPI_Aint begin = -std::min<MPI_Aint>(s.true_lower, 0);
    const int one = 1;
    MPI_Datatype moved, out;
    MPI_Type_create_hindexed(1, &one, &begin, type, &moved);
    MPI_Type_create_resized(moved, 0, s.true_lower + begin + s.true_extent, &out);
    MPI_Type_free(&moved);
    MPI_Type_free(&type);
    type = out;
  }

  // The data a bit before or behind its place.
  void shift(MPI_Datatype& type) {
    const int one = 1;
    const MPI_Aint by = range(-8, 8);
    MPI_Datatype out;
    MPI_Type_create_hindexed(1, &one, &by, type, &out);
    MPI_Type_free(&type);
    type = out;
  }

  // No long double: MPICH packs 10 of its 16 bytes.
  MPI_Datatype basic(bool file) {
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
    // Open MPI 5.0 rounds displacements of complex numbers to multiples of their size: two with 28 bytes from
    // one to the next are packed as if they were 24 apart.
    const MPI_Datatype complex8 = MPI_LONG, complex16 = MPI_2INT;
#else
    const MPI_Datatype complex8 = MPI_C_FLOAT_COMPLEX, complex16 = MPI_C_DOUBLE_COMPLEX;
#endif
    const MPI_Datatype types[] = {MPI_BYTE,      MPI_CHAR,       MPI_SHORT,     MPI_INT,      MPI_DOUBLE,
                                  MPI_LONG,      MPI_FLOAT,      complex8,      MPI_2INT,     MPI_C_BOOL,
                                  MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_SHORT_INT, MPI_LONG_INT, complex16};
    MPI_Datatype out;
    MPI_Type_dup(types[range(0, file || !everything_ ? 9 : 14)], &out);
    return out;
  }

  MPI_Datatype nested(int depth, bool file) {
    if (depth == 0 || range(0, 9) == 0) return basic(file);
    MPI_Datatype old = nested(depth - 1, file);
    if (file) trim(old);
    if (misplaced_ && range(0, 5) == 0) shift(old);
    const Shape s = shape(old);
    if (s.size > largest_ || s.extent > 64 * largest_ || s.extent < 0) return old;
    MPI_Datatype out = MPI_DATATYPE_NULL;
    switch (range(0, 8)) {
      case 0:
        contiguous(old, out);
        break;
      case 1:
      case 2:
        vector(old, s, file, out);
        break;
      case 3:
      case 4:
        indexed(old, s, file, out);
        break;
      case 5:
        structure(old, depth, file, out);
        break;
      case 6:
        subarray(old, out);
        break;
      case 7:
        darray(old, out);
        break;
      default:
        resized(old, s, file, out);
    }
    MPI_Type_free(&old);
    return out;
  }

  void contiguous(MPI_Datatype old, MPI_Datatype& out) {
    const int count = static_cast<int>(range(1, 4));
#if MPI_VERSION >= 4
    if (everything_ && range(0, 1) == 1) {
      MPI_Type_contiguous_c(count, old, &out);
      return;
    }
#endif
    MPI_Type_contiguous(count, old, &out);
  }

  void vector(MPI_Datatype old, const Shape& s, bool file, MPI_Datatype& out) {
    const int count = static_cast<int>(range(1, 5));
    const int block = static_cast<int>(range(1, 3));
    int stride = static_cast<int>(file ? range(block, block + 3) : range(-5, 5));
    const bool bytes = range(0, 1) == 1;
    MPI_Aint step = stride * s.extent + (file ? range(0, 5) : range(-5, 5));
    // Open MPI takes a step of -1 byte for "none given".
    if (step == -1) step = 1;
    if (stride * s.extent == -1) stride = 1;
#if MPI_VERSION >= 4
    if (everything_ && range(0, 1) == 1) {
      if (bytes) {
        MPI_Type_create_hvector_c(count, block, step, old, &out);
      } else {
        MPI_Type_vector_c(count, block, stride, old, &out);
      }
      return;
    }
#endif
    if (bytes) {
      MPI_Type_create_hvector(count, block, step, old, &out);
    } else {
      MPI_Type_vector(count, block, stride, old, &out);
    }
  }

  void indexed(MPI_Datatype old, const Shape& s, bool file, MPI_Datatype& out) {
    const int count = static_cast<int>(range(1, 5));
    const bool same = range(0, 1) == 1;
    const bool bytes = range(0, 1) == 1;
    const int block = static_cast<int>(range(1, 3));
    std::vector<int> lengths, places;
    std::vector<MPI_Aint> addresses;
    std::int64_t next = range(0, 3);
    MPI_Aint next_address = range(0, 9);
    for (int i = 0; i < count; ++i) {
      lengths.push_back(same ? block : static_cast<int>(range(i == 0 ? 1 : 0, 3)));
      places.push_back(static_cast<int>(file ? next : range(-9, 9)));
      addresses.push_back(file ? next_address : range(-200, 200));
      next += lengths.back() + range(0, 2);
      next_address += lengths.back() * s.extent + range(0, 2) * range(0, 9);
    }
#if MPI_VERSION >= 4
    if (everything_ && range(0, 1) == 1) {
      const std::vector<MPI_Count> l(lengths.begin(), lengths.end()), p(places.begin(), places.end());
      const std::vector<MPI_Count> a(addresses.begin(), addresses.end());
      if (same && bytes) MPI_Type_create_hindexed_block_c(count, block, a.data(), old, &out);
      if (same && !bytes) MPI_Type_create_indexed_block_c(count, block, p.data(), old, &out);
      if (!same && bytes) MPI_Type_create_hindexed_c(count, l.data(), a.data(), old, &out);
      if (!same && !bytes) MPI_Type_indexed_c(count, l.data(), p.data(), old, &out);
      return;
    }
#endif
    if (same && bytes) MPI_Type_create_hindexed_block(count, block, addresses.data(), old, &out);
    if (same && !bytes) MPI_Type_create_indexed_block(count, block, places.data(), old, &out);
    if (!same && bytes) MPI_Type_create_hindexed(count, lengths.data(), addresses.data(), old, &out);
    if (!same && !bytes) MPI_Type_indexed(count, lengths.data(), places.data(), old, &out);
  }

  void structure(MPI_Datatype old, int depth, bool file, MPI_Datatype& out) {
    MPI_Datatype other = nested(depth - 1, file);
    if (file) trim(other);
    const int count = static_cast<int>(range(1, 4));
    std::vector<int> lengths;
    std::vector<MPI_Aint> places;
    std::vector<MPI_Datatype> types;
    MPI_Aint next = 0;
    for (int i = 0; i < count; ++i) {
      types.push_back(range(0, 1) == 0 ? old : other);
      const Shape s = shape(types.back());
      lengths.push_back(static_cast<int>(range(misplaced_ && i > 0 && range(0, 3) == 0 ? 0 : 1, 2)));
      places.push_back(file ? next + range(0, 5) : range(-300, 300));
      next = places.back() + s.true_lower + s.true_extent + (lengths.back() - 1) * s.extent;
    }
#if MPI_VERSION >= 4
    if (everything_ && range(0, 1) == 1) {
      const std::vector<MPI_Count> l(lengths.begin(), lengths.end()), p(places.begin(), places.end());
      MPI_Type_create_struct_c(count, l.data(), p.data(), types.data(), &out);
      MPI_Type_free(&other);
      return;
    }
#endif
    MPI_Type_create_struct(count, lengths.data(), places.data(), types.data(), &out);
    MPI_Type_free(&other);
  }

  void subarray(MPI_Datatype old, MPI_Datatype& out) {
    const int n = static_cast<int>(range(1, 3));
    std::vector<int> sizes, subsizes, starts;
    for (int d = 0; d < n; ++d) {
      sizes.push_back(static_cast<int>(range(1, 5)));
      subsizes.push_back(static_cast<int>(range(1, sizes[d])));
      starts.push_back(static_cast<int>(range(0, sizes[d] - subsizes[d])));
    }
    const int order = range(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
#if MPI_VERSION >= 4
    if (everything_ && range(0, 1) == 1) {
      const std::vector<MPI_Count> a(sizes.begin(), sizes.end()), b(subsizes.begin(), subsizes.end());
      const std::vector<MPI_Count> c(starts.begin(), starts.end());
      MPI_Type_create_subarray_c(n, a.data(), b.data(), c.data(), order, old, &out);
      return;
    }
#endif
    MPI_Type_create_subarray(n, sizes.data(), subsizes.data(), starts.data(), order, old, &out);
  }

  void darray(MPI_Datatype old, MPI_Datatype& out) {
    const int n = static_cast<int>(range(1, 3));
    int processes = 1;
    std::vector<int> sizes, distributions, arguments, counts;
    for (int d = 0; d < n; ++d) {
      const auto kind = range(0, 2);
      counts.push_back(kind == 0 ? 1 : static_cast<int>(range(1, 3)));
      // Every process gets something: libraries differ in how they treat one that does not.
      const int count = counts[d];
      const int block = static_cast<int>(range(1, 2));
      sizes.push_back(count * block + static_cast<int>(kind == 1 ? 0 : range(0, 3)));
      distributions.push_back(kind == 0   ? MPI_DISTRIBUTE_NONE
                              : kind == 1 ? MPI_DISTRIBUTE_BLOCK
                                          : MPI_DISTRIBUTE_CYCLIC);
      arguments.push_back(kind == 2 && range(0, 1) == 1 ? block : MPI_DISTRIBUTE_DFLT_DARG);
      processes *= count;
    }
    const int order = range(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    const int me = static_cast<int>(range(0, processes - 1));
#if MPI_VERSION >= 4
    if (everything_ && range(0, 1) == 1) {
      const std::vector<MPI_Count> s(sizes.begin(), sizes.end());
      MPI_Type_create_darray_c(processes, me, n, s.data(), distributions.data(), arguments.data(),
                               counts.data(), order, old, &out);
      return;
    }
#endif
    MPI_Type_create_darray(processes, me, n, sizes.data(), distributions.data(), arguments.data(),
                           counts.data(), order, old, &out);
  }

  void resized(MPI_Datatype old, const Shape& s, bool file, MPI_Datatype& out) {
    MPI_Aint lower = file && !misplaced_ ? 0 : file ? range(0, 1) * range(-9, 9) : range(-30, 30);
    MPI_Aint extent = file ? s.true_lower + s.true_extent + range(0, 9) : range(0, 90);
#if MPI_VERSION >= 4
    if (everything_ && range(0, 1) == 1) {
      MPI_Type_create_resized_c(old, lower, extent, &out);
      return;
    }
#endif
    MPI_Type_create_resized(old, lower, extent, &out);
  }

  std::mt19937_64 random_;
  bool everything_;
  bool misplaced_;
  MPI_Count largest_ = 4096;
};
