// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// Parallel HDF5 with many small datasets and attributes, or with a few large ones that are written row by
// row. While the file grows, each rank reads back parts of its earlier data, like a code that keeps its state
// in one file.
#include <hdf5.h>

#include "libraries/common.hpp"

namespace {

using namespace bench;

struct Settings : LibrarySettings {
  long datasets = 400, rows = 1, elements = 512, attributes = 4, group = 20, read_every = 3,
       chunked_every = 4;
  bool collective = false, by_rows = false, fill = false, latest = false;
};

std::vector<Option> options(Settings& s) {
  std::vector<Option> all = {
      {'d', "datasets", "N", "datasets (400)", [&](auto& v) { s.datasets = parse_number(v, 1, 1000000); }},
      {0, "rows", "N", "rows of a dataset; each rank has a block of columns (1)",
       [&](auto& v) { s.rows = parse_number(v, 1, 1L << 20); }},
      {'n', "elements", "N", "values of 8 bytes per row and rank (512)",
       [&](auto& v) { s.elements = parse_number(v, 1, 1L << 28); }},
      {'a', "attributes", "N", "attributes per dataset (4)",
       [&](auto& v) { s.attributes = parse_number(v, 0, 1000); }},
      {0, "group", "N", "datasets per group (20)", [&](auto& v) { s.group = parse_number(v, 1, 1000000); }},
      {0, "read-every", "N", "one of so many datasets is followed by a read of an earlier one; 0: none (3)",
       [&](auto& v) { s.read_every = parse_number(v, 0, 1000000); }},
      {0, "chunked-every", "N", "one of so many datasets has chunks, one per rank; 0: none (4)",
       [&](auto& v) { s.chunked_every = parse_number(v, 0, 1000000); }},
      {'c', "collective", "", "collective transfers", [&](auto&) { s.collective = true; }},
      {0, "by-rows", "", "write each row by a call of its own", [&](auto&) { s.by_rows = true; }},
      {0, "fill", "", "HDF5 fills a dataset when it is made", [&](auto&) { s.fill = true; }},
      {0, "latest", "", "HDF5's latest file format", [&](auto&) { s.latest = true; }},
  };
  for (Option& option : library_options(s)) all.push_back(std::move(option));
  return all;
}

// HDF5's identifiers and codes are negative after an error, which HDF5 has by then told on stderr.
template <class T>
T good(T code, const char* call) {
  if (code < 0) throw std::runtime_error(std::string(call) + " failed");
  return code;
}

// Closes what HDF5 opened.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), const char* call) : id_(good(id, call)), close_(close) {}
  ~Handle() { close_(id_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

class Program {
 public:
  Program(const Settings& s, int rank, int ranks)
      : s_(s),
        rank_(rank),
        ranks_(ranks),
        own_(static_cast<std::size_t>(s.rows * s.elements)),
        access_(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "H5Pcreate"),
        transfer_(H5Pcreate(H5P_DATASET_XFER), H5Pclose, "H5Pcreate") {
    good(H5Pset_fapl_mpio(access_, MPI_COMM_WORLD, MPI_INFO_NULL), "H5Pset_fapl_mpio");
    if (s.latest)
      good(H5Pset_libver_bounds(access_, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST), "H5Pset_libver_bounds");
    good(H5Pset_dxpl_mpio(transfer_, s.collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT),
         "H5Pset_dxpl_mpio");
  }

  std::uint64_t bytes() const { return 8 * per_dataset() * static_cast<std::uint64_t>(s_.datasets); }

  long write() {
    const Handle file(H5Fcreate(s_.file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access_), H5Fclose, "H5Fcreate");
    long wrong = 0;
    for (long d = 0; d < s_.datasets; d++) {
      if (d % s_.group == 0) {
        const Handle group(H5Gcreate2(file, group_name(d).c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                           H5Gclose, "H5Gcreate2");
      }
      write_dataset(file, d);
      if (s_.read_every > 0 && d % s_.read_every == s_.read_every - 1)
        wrong += read_dataset(file, d / 2, rank_);
    }
    if (s_.sync) good(H5Fflush(file, H5F_SCOPE_GLOBAL), "H5Fflush");
    return wrong;
  }

  long read() {
    const Handle file(H5Fopen(s_.file.c_str(), H5F_ACC_RDONLY, access_), H5Fclose, "H5Fopen");
    long wrong = 0;
    for (long d = 0; d < s_.datasets; d++) wrong += read_dataset(file, d, (rank_ + 1) % ranks_);
    return wrong;
  }

 private:
  std::uint64_t per_dataset() const { return own_.size() * static_cast<unsigned>(ranks_); }
  // The values of a dataset are numbered from here; those of its attributes from beyond all datasets.
  std::uint64_t first(long d, int rank) const {
    return static_cast<std::uint64_t>(d) * per_dataset() + own_.size() * static_cast<unsigned>(rank);
  }
  std::uint64_t attribute(long d, long a) const {
    return first(s_.datasets, 0) + static_cast<std::uint64_t>(d * s_.attributes + a);
  }
  std::string group_name(long d) const { return "/group-" + std::to_string(d / s_.group); }
  std::string name(long d) const { return group_name(d) + "/dataset-" + std::to_string(d); }

  void write_dataset(hid_t file, long d) {
    const auto columns = static_cast<hsize_t>(s_.elements);
    const hsize_t all[] = {static_cast<hsize_t>(s_.rows), columns * static_cast<unsigned>(ranks_)};
    const hsize_t chunk[] = {static_cast<hsize_t>(s_.rows), columns};
    const Handle space(H5Screate_simple(2, all, nullptr), H5Sclose, "H5Screate_simple");
    const Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "H5Pcreate");
    if (s_.fill) good(H5Pset_fill_time(layout, H5D_FILL_TIME_ALLOC), "H5Pset_fill_time");
    if (s_.chunked_every > 0 && d % s_.chunked_every == s_.chunked_every - 1) {
      good(H5Pset_chunk(layout, 2, chunk), "H5Pset_chunk");
    }
    const Handle dataset(
        H5Dcreate2(file, name(d).c_str(), H5T_NATIVE_ULLONG, space, H5P_DEFAULT, layout, H5P_DEFAULT),
        H5Dclose, "H5Dcreate2");
    fill_values(own_, first(d, rank_), s_.seed);
    const long rows = s_.by_rows ? 1 : s_.rows;
    for (long row = 0; row < s_.rows; row += rows) write_rows(dataset, space, row, rows);
    for (long a = 0; a < s_.attributes; a++) {
      const Handle scalar(H5Screate(H5S_SCALAR), H5Sclose, "H5Screate");
      const Handle attribute_handle(
          H5Acreate2(dataset, attribute_name(a).c_str(), H5T_NATIVE_ULLONG, scalar, H5P_DEFAULT, H5P_DEFAULT),
          H5Aclose, "H5Acreate2");
      const unsigned long long value = word(attribute(d, a), s_.seed);
      good(H5Awrite(attribute_handle, H5T_NATIVE_ULLONG, &value), "H5Awrite");
    }
  }

  long read_dataset(hid_t file, long d, int of_rank) {
    const Handle dataset(H5Dopen2(file, name(d).c_str(), H5P_DEFAULT), H5Dclose, "H5Dopen2");
    const Handle space(H5Dget_space(dataset), H5Sclose, "H5Dget_space");
    const hsize_t part = own_.size();
    const Handle memory(H5Screate_simple(1, &part, nullptr), H5Sclose, "H5Screate_simple");
    select(space, of_rank, 0, s_.rows);
    std::fill(own_.begin(), own_.end(), 0);
    good(H5Dread(dataset, H5T_NATIVE_ULLONG, memory, space, transfer_, own_.data()), "H5Dread");
    long wrong = wrong_values(own_, first(d, of_rank), s_.seed);
    for (long a = 0; a < s_.attributes; a++) {
      const Handle handle(H5Aopen(dataset, attribute_name(a).c_str(), H5P_DEFAULT), H5Aclose, "H5Aopen");
      unsigned long long value = 0;
      good(H5Aread(handle, H5T_NATIVE_ULLONG, &value), "H5Aread");
      wrong += value != word(attribute(d, a), s_.seed);
    }
    return wrong;
  }

  static std::string attribute_name(long a) { return "attribute-" + std::to_string(a); }

  void write_rows(hid_t dataset, hid_t space, long first_row, long rows) const {
    const auto part = static_cast<hsize_t>(rows) * static_cast<hsize_t>(s_.elements);
    const Handle memory(H5Screate_simple(1, &part, nullptr), H5Sclose, "H5Screate_simple");
    select(space, rank_, first_row, rows);
    good(H5Dwrite(dataset, H5T_NATIVE_ULLONG, memory, space, transfer_,
                  &own_[static_cast<std::size_t>(first_row * s_.elements)]),
         "H5Dwrite");
  }

  void select(hid_t space, int of_rank, long first_row, long rows) const {
    const hsize_t count[] = {static_cast<hsize_t>(rows), static_cast<hsize_t>(s_.elements)};
    const hsize_t start[] = {static_cast<hsize_t>(first_row), count[1] * static_cast<unsigned>(of_rank)};
    good(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr), "H5Sselect_hyperslab");
  }

  const Settings& s_;
  int rank_, ranks_;
  std::vector<unsigned long long> own_;
  Handle access_, transfer_;
};

int start(int argc, char** argv, int rank, int ranks) {
  Settings s;
  s.file = "bench.h5";
  const std::vector<Option> table = options(s);
  parse_arguments(argc, argv, table);
  if (s.help) {
    if (rank == 0)
      std::printf("hdf5: many small datasets and attributes, or a few large ones row by row (JSON)\n%s",
                  describe(table).c_str());
    return 0;
  }
  Program program(s, rank, ranks);
  const auto parameters = [&](Json& json) {
    json.put("datasets", s.datasets)
        .put("rows", s.rows)
        .put("elements", s.elements)
        .put("attributes", s.attributes);
    json.put("group", s.group).put("read_every", s.read_every).put("chunked_every", s.chunked_every);
    json.put("collective", s.collective)
        .put("by_rows", s.by_rows)
        .put("fill", s.fill)
        .put("latest", s.latest);
  };
  return run_library(
      s,
      {"hdf5", program.bytes(), parameters, [&] { return program.write(); }, [&] { return program.read(); }},
      rank, ranks);
}

}  // namespace

int main(int argc, char** argv) { return bench::mpi_main("hdf5", argc, argv, start); }
