// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// PnetCDF with many variables, half of them with records: each rank writes its columns of every variable.
#include <pnetcdf.h>

#include "libraries/common.hpp"

namespace {

using namespace bench;

enum class Calls { collective, independent, queued };

struct Settings : LibrarySettings {
  long variables = 400, rows = 16, columns = 32, records = 4;
  Calls calls = Calls::collective;
};

std::vector<Option> options(Settings& s) {
  std::vector<Option> all = {
      {'v', "variables", "N", "variables; every second one has records (400)",
       [&](auto& v) { s.variables = parse_number(v, 1, 100000); }},
      {0, "rows", "N", "rows of a variable (16)", [&](auto& v) { s.rows = parse_number(v, 1, 1L << 20); }},
      {0, "columns", "N", "columns per rank, values of 8 bytes (32)",
       [&](auto& v) { s.columns = parse_number(v, 1, 1L << 20); }},
      {0, "records", "N", "records of the variables that have them (4)",
       [&](auto& v) { s.records = parse_number(v, 1, 10000); }},
      {0, "calls", "collective|independent|queued", "how data is written and read (collective)",
       [&](auto& v) {
         if (v != "collective" && v != "independent" && v != "queued") {
           throw BadUsage("there is collective, independent and queued, not '" + v + "'");
         }
         s.calls = v == "collective"    ? Calls::collective
                   : v == "independent" ? Calls::independent
                                        : Calls::queued;
       }},
  };
  for (Option& option : library_options(s)) all.push_back(std::move(option));
  return all;
}

void good(int code, const char* call) {
  if (code != NC_NOERR) throw std::runtime_error(std::string(call) + ": " + ncmpi_strerror(code));
}

class Program {
 public:
  Program(const Settings& s, int rank, int ranks)
      : s_(s), rank_(rank), ranks_(ranks), part_(static_cast<std::size_t>(s.rows * s.columns)) {}

  std::uint64_t bytes() const {
    return 8 * part_ * static_cast<unsigned>(ranks_) * static_cast<std::uint64_t>(pieces());
  }

  long write() {
    int file = -1;
    // The format of 64-bit data, which has unsigned 64-bit values.
    good(ncmpi_create(MPI_COMM_WORLD, s_.file.c_str(), NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file),
         "ncmpi_create");
    define(file);
    transfer(file, true, rank_);
    if (s_.sync) good(ncmpi_sync(file), "ncmpi_sync");
    good(ncmpi_close(file), "ncmpi_close");
    return 0;
  }

  long read() {
    int file = -1;
    good(ncmpi_open(MPI_COMM_WORLD, s_.file.c_str(), NC_NOWRITE, MPI_INFO_NULL, &file), "ncmpi_open");
    const long wrong = wrong_attributes(file) + transfer(file, false, (rank_ + 1) % ranks_);
    good(ncmpi_close(file), "ncmpi_close");
    return wrong;
  }

 private:
  static bool has_records(long variable) { return variable % 2 == 1; }
  long pieces() const { return s_.variables - s_.variables / 2 + s_.variables / 2 * s_.records; }
  std::uint64_t first(long variable, long record, int rank) const {
    const std::uint64_t number = static_cast<std::uint64_t>(variable * s_.records + record);
    return (number * static_cast<unsigned>(ranks_) + static_cast<unsigned>(rank)) * part_;
  }

  void define(int file) {
    int dims[3];  // records, rows, columns
    good(ncmpi_def_dim(file, "record", NC_UNLIMITED, &dims[0]), "ncmpi_def_dim");
    good(ncmpi_def_dim(file, "row", s_.rows, &dims[1]), "ncmpi_def_dim");
    good(ncmpi_def_dim(file, "column", s_.columns * ranks_, &dims[2]), "ncmpi_def_dim");
    for (long v = 0; v < s_.variables; v++) {
      const std::string name = "variable-" + std::to_string(v);
      const int skip = has_records(v) ? 0 : 1;
      int id = -1;
      good(ncmpi_def_var(file, name.c_str(), NC_UINT64, 3 - skip, dims + skip, &id), "ncmpi_def_var");
      good(ncmpi_put_att_text(file, id, "units", 5, "metre"), "ncmpi_put_att_text");
      const long long number = v;
      good(ncmpi_put_att_longlong(file, id, "number", NC_INT64, 1, &number), "ncmpi_put_att_longlong");
    }
    good(ncmpi_enddef(file), "ncmpi_enddef");
  }

  long wrong_attributes(int file) const {
    long wrong = 0;
    for (long v = 0; v < s_.variables; v++) {
      long long number = -1;
      good(ncmpi_get_att_longlong(file, static_cast<int>(v), "number", &number), "ncmpi_get_att_longlong");
      wrong += number != v;
    }
    return wrong;
  }

  // Writes or reads the columns of `of_rank` in all variables: the fixed ones, then record after record.
  long transfer(int file, bool writes, int of_rank) {
    if (s_.calls == Calls::independent) good(ncmpi_begin_indep_data(file), "ncmpi_begin_indep_data");
    long wrong = 0;
    for (long record = -1; record < s_.records; record++) {
      buffers_.clear();
      std::vector<std::uint64_t> firsts;
      for (long v = record < 0 ? 0 : 1; v < s_.variables; v += 2) {
        firsts.push_back(first(v, std::max(record, 0L), of_rank));
        buffers_.emplace_back(part_);
        if (writes) fill_values(buffers_.back(), firsts.back(), s_.seed);
        one(file, v, record, writes, of_rank);
        if (s_.calls != Calls::queued) wrong += check(writes, firsts);
      }
      if (s_.calls == Calls::queued) {
        good(ncmpi_wait_all(file, NC_REQ_ALL, nullptr, nullptr), "ncmpi_wait_all");
        wrong += check(writes, firsts);
      }
    }
    if (s_.calls == Calls::independent) good(ncmpi_end_indep_data(file), "ncmpi_end_indep_data");
    return wrong;
  }

  void one(int file, long variable, long record, bool writes, int of_rank) {
    const MPI_Offset all_starts[3] = {record, 0, s_.columns * of_rank};
    const MPI_Offset all_counts[3] = {1, s_.rows, s_.columns};
    const int skip = has_records(variable) ? 0 : 1, id = static_cast<int>(variable);
    const MPI_Offset *start = all_starts + skip, *count = all_counts + skip;
    unsigned long long* data = buffers_.back().data();
    switch (s_.calls) {
      case Calls::collective:
        good(writes ? ncmpi_put_vara_ulonglong_all(file, id, start, count, data)
                    : ncmpi_get_vara_ulonglong_all(file, id, start, count, data),
             "ncmpi vara_all");
        break;
      case Calls::independent:
        good(writes ? ncmpi_put_vara_ulonglong(file, id, start, count, data)
                    : ncmpi_get_vara_ulonglong(file, id, start, count, data),
             "ncmpi vara");
        break;
      case Calls::queued:
        good(writes ? ncmpi_iput_vara_ulonglong(file, id, start, count, data, nullptr)
                    : ncmpi_iget_vara_ulonglong(file, id, start, count, data, nullptr),
             "ncmpi ivara");
        break;
    }
  }

  // Counts what is wrong in the buffers, and empties them.
  long check(bool writes, std::vector<std::uint64_t>& firsts) {
    long wrong = 0;
    for (std::size_t i = 0; !writes && i < firsts.size(); i++)
      wrong += wrong_values(buffers_[i], firsts[i], s_.seed);
    buffers_.clear();
    firsts.clear();
    return wrong;
  }

  const Settings& s_;
  int rank_, ranks_;
  std::size_t part_;  // values of one rank in one variable, or in one record of it
  std::vector<std::vector<unsigned long long>> buffers_;
};

int start(int argc, char** argv, int rank, int ranks) {
  Settings s;
  s.file = "bench.nc";
  const std::vector<Option> table = options(s);
  parse_arguments(argc, argv, table);
  if (s.help) {
    if (rank == 0) std::printf("pnetcdf: many variables (JSON)\n%s", describe(table).c_str());
    return 0;
  }
  Program program(s, rank, ranks);
  const auto parameters = [&](Json& json) {
    const char* calls[] = {"collective", "independent", "queued"};
    json.put("variables", s.variables).put("rows", s.rows).put("columns", s.columns);
    json.put("records", s.records).put("calls", calls[static_cast<int>(s.calls)]);
  };
  return run_library(s,
                     {"pnetcdf", program.bytes(), parameters, [&] { return program.write(); },
                      [&] { return program.read(); }},
                     rank, ranks);
}

}  // namespace

int main(int argc, char** argv) { return bench::mpi_main("pnetcdf", argc, argv, start); }
