// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// An N-dimensional array, cut into blocks, written and read through a subarray view, as in simulations.
#include <algorithm>

#include "common/args.hpp"
#include "common/json.hpp"
#include "common/mpi.hpp"
#include "subarray/block.hpp"

namespace {

using namespace bench;

struct Settings {
  std::vector<int> dims = {128, 128, 128}, grid;
  int element = 8, ghost = 0;
  bool whole = false, view_per_plane = false, collective = false, fsync = false, read = false,
       check_write = false, check_read = false;
  bool warm = true, keep = false, help = false;
  long repetitions = 1;
  std::uint64_t seed = 0;
  std::string file = "subarray.out";
  Hints hints;

  std::uint64_t bytes() const {
    auto all = static_cast<std::uint64_t>(element);
    for (const int n : dims) all *= static_cast<std::uint64_t>(n);
    return all;
  }
};

std::vector<int> parse_extents(const std::string& text) {
  std::vector<int> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('x', at), text.size());
    out.push_back(static_cast<int>(parse_number(text.substr(at, end - at), 1, 1 << 30)));
    at = end + 1;
  }
  return out;
}

std::vector<Option> options(Settings& s) {
  return {
      {'d', "dims", "NxNx...", "the array, slowest dimension first (128x128x128)",
       [&](auto& v) { s.dims = parse_extents(v); }},
      {'g', "grid", "NxNx...", "blocks in each dimension (as MPI_Dims_create has it)",
       [&](auto& v) { s.grid = parse_extents(v); }},
      {0, "element", "BYTES", "bytes of an element (8)",
       [&](auto& v) { s.element = static_cast<int>(parse_number(v, 1, 1 << 20)); }},
      {0, "ghost", "N", "ghost elements around a block in memory (0)",
       [&](auto& v) { s.ghost = static_cast<int>(parse_number(v, 0, 1000)); }},
      {0, "pieces", "plane|whole", "a call per plane of the slowest dimension, or one call (plane)",
       [&](auto& v) {
         if (v != "plane" && v != "whole") throw BadUsage("'" + v + "' is neither plane nor whole");
         s.whole = v == "whole";
       }},
      {0, "views", "one|plane", "one view for the file, or a new one before each plane's call (one)",
       [&](auto& v) {
         if (v != "one" && v != "plane") throw BadUsage("'" + v + "' is neither one nor plane");
         s.view_per_plane = v == "plane";
       }},
      {'c', "collective", "", "collective calls", [&](auto&) { s.collective = true; }},
      {'e', "fsync", "", "MPI_File_sync before close", [&](auto&) { s.fsync = true; }},
      {'r', "read", "", "read back as it was written, timed", [&](auto&) { s.read = true; }},
      {'W', "check-write", "", "check the file after writing", [&](auto&) { s.check_write = true; }},
      {'R', "check-read", "", "check all that is read (with -r)", [&](auto&) { s.check_read = true; }},
      {'i', "repetitions", "N", "repetitions (1)",
       [&](auto& v) { s.repetitions = parse_number(v, 1, 10000); }},
      {'o', "file", "FILE", "file to write (subarray.out)", [&](auto& v) { s.file = v; }},
      {'G', "seed", "N", "seed of the data (0)",
       [&](auto& v) { s.seed = static_cast<std::uint64_t>(parse_number(v, 0, 1L << 40)); }},
      {0, "hint", "NAME=VALUE", "an MPI_Info hint for MPI_File_open",
       [&](auto& v) {
         const std::size_t at = v.find('=');
         if (at == 0 || at == std::string::npos) throw BadUsage("'" + v + "' is not NAME=VALUE");
         s.hints.emplace_back(v.substr(0, at), v.substr(at + 1));
       }},
      {0, "no-warm", "", "do not touch and free memory before each run", [&](auto&) { s.warm = false; }},
      {'k', "keep", "", "leave the file", [&](auto&) { s.keep = true; }},
      {'h', "help", "", "this text", [&](auto&) { s.help = true; }},
  };
}

void check(Settings& s, int ranks) {
  if (s.check_read && !s.read) throw BadUsage("-R needs -r");
  if (s.view_per_plane && s.whole) throw BadUsage("--views plane is for --pieces plane");
  if (s.grid.empty()) {
    s.grid.assign(s.dims.size(), 0);
    MPI_Dims_create(ranks, static_cast<int>(s.dims.size()), s.grid.data());
  }
  if (s.grid.size() != s.dims.size()) throw BadUsage("--grid and --dims must have as many dimensions");
  std::int64_t blocks = 1;
  for (std::size_t d = 0; d < s.dims.size(); d++) {
    blocks *= s.grid[d];
    if (s.grid[d] > s.dims[d])
      throw BadUsage("--grid cuts a dimension into more blocks than it has elements");
  }
  if (blocks != ranks) {
    throw BadUsage("--grid makes " + std::to_string(blocks) + " blocks for " + std::to_string(ranks) +
                   " ranks");
  }
}

enum { open_s, io_s, sync_s, close_s, total_s, time_count };

// Opens, sets the view, moves the block, closes: in one direction, timed.
class Run {
 public:
  Run(const Settings& s, Block& block) : s_(s), block_(block) {
    MPI_Type_contiguous(s.element, MPI_BYTE, &element_);
    MPI_Type_commit(&element_);
    memory_ = s.whole ? block.whole_type(element_) : block.plane_type(element_);
    place_ = block.file_type(element_);
    // Blocks may differ by a plane: in collective calls, as views are, all ranks go on until the last has
    // written.
    calls_ = s.whole ? 1 : block.planes();
    rounds_ = calls_;
    if (s.collective || s.view_per_plane)
      MPI_Allreduce(&calls_, &rounds_, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  ~Run() {
    MPI_Type_free(&element_);
    MPI_Type_free(&memory_);
    MPI_Type_free(&place_);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  int calls() const { return rounds_; }

  std::vector<double> go(bool writing) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now_s();
    MPI_File file =
        open_mpi_file(s_.file, writing ? MPI_MODE_WRONLY | MPI_MODE_CREATE : MPI_MODE_RDONLY, s_.hints);
    if (!s_.view_per_plane) view(file, place_);
    const double opened = now_s();
    for (int i = 0; i < rounds_; i++) move(file, writing, i);
    const double moved = now_s();
    if (writing && s_.fsync) check_mpi(MPI_File_sync(file), "MPI_File_sync");
    const double synced = now_s();
    check_mpi(MPI_File_close(&file), "MPI_File_close");
    const double closed = now_s();
    return max_over_ranks({opened - begin, moved - opened, synced - moved, closed - synced, closed - begin});
  }

 private:
  void view(MPI_File file, MPI_Datatype place) {
    check_mpi(MPI_File_set_view(file, 0, element_, place, "native", MPI_INFO_NULL), "MPI_File_set_view");
  }

  void move(MPI_File file, bool writing, int i) {
    const int count = i < calls_ ? 1 : 0;
    if (s_.view_per_plane) {
      MPI_Datatype place = block_.plane_file_type(element_, std::min(i, calls_ - 1));
      view(file, place);
      MPI_Type_free(&place);
    }
    unsigned char* data = block_.plane(count == 1 ? i : 0);
    MPI_Status status;
    int code;
    if (writing) {
      code = s_.collective ? MPI_File_write_all(file, data, count, memory_, &status)
                           : MPI_File_write(file, data, count, memory_, &status);
    } else {
      code = s_.collective ? MPI_File_read_all(file, data, count, memory_, &status)
                           : MPI_File_read(file, data, count, memory_, &status);
    }
    check_mpi(code, writing ? "MPI_File_write" : "MPI_File_read");
    check_count(status, memory_, count, writing ? "MPI_File_write" : "MPI_File_read");
  }

  const Settings& s_;
  Block& block_;
  MPI_Datatype element_, memory_, place_;
  int calls_ = 0, rounds_ = 0;
};

void put_times(Json& json, const char* name, const std::vector<std::vector<double>>& runs,
               std::uint64_t bytes) {
  if (runs.empty()) return;
  std::vector<double> mib_s;
  json.object(name).list("repetitions");
  for (const std::vector<double>& t : runs) {
    mib_s.push_back(static_cast<double>(bytes) / (1 << 20) / t[total_s]);
    json.object().put("mib_s", mib_s.back()).put("seconds", t[total_s]).put("open_s", t[open_s]);
    json.put("io_s", t[io_s]).put("sync_s", t[sync_s]).put("close_s", t[close_s]).close();
  }
  const Spread all = spread(mib_s);
  json.close().put("min_mib_s", all.min).put("median_mib_s", all.median).put("max_mib_s", all.max).close();
}

void put_extents(Json& json, const char* name, const std::vector<int>& extents) {
  json.list(name);
  for (const int n : extents) json.put("", n);
  json.close();
}

int run(const Settings& s, int rank, int ranks) {
  Block block(s.dims, s.grid, rank, s.element, s.ghost);
  std::vector<std::vector<double>> writes, reads;
  long errors = 0, calls = 0;
  for (long i = 0; i < s.repetitions; i++) {
    prepare_run(s.file, s.bytes(), s.warm, rank, ranks);
    block.fill(s.seed);
    Run one(s, block);
    calls = sum_over_ranks(one.calls());
    writes.push_back(one.go(true));
    if (s.check_write) errors += check_share(s.file, s.bytes(), s.seed, rank, ranks);
    if (!s.read) continue;
    block.clear();
    reads.push_back(one.go(false));
    if (s.check_read) errors += block.wrong_rows(s.seed);
  }
  errors = sum_over_ranks(errors);
  if (rank != 0) return errors == 0 ? 0 : 1;
  if (!s.keep) remove_file(s.file);
  Json json("subarray");
  json.put("mpi", mpi_version()).put("ranks", ranks).object("parameters");
  put_extents(json, "dims", s.dims);
  put_extents(json, "grid", s.grid);
  json.put("element", s.element).put("ghost", s.ghost).put("pieces", s.whole ? "whole" : "plane");
  json.put("views", s.view_per_plane ? "plane" : "one");
  json.put("collective", s.collective).put("fsync", s.fsync).put("file", s.file).put("warm", s.warm);
  json.put("repetitions", s.repetitions).put("seed", s.seed).close();
  json.put("bytes", s.bytes()).put("calls", calls);
  put_times(json, "write", writes, s.bytes());
  put_times(json, "read", reads, s.bytes());
  const bool checked = s.check_write || s.check_read;
  json.put("checked", checked).put("errors", errors).put("verified", checked && errors == 0);
  std::fputs(json.finish().c_str(), stdout);
  return errors == 0 ? 0 : 1;
}

int start(int argc, char** argv, int rank, int ranks) {
  Settings settings;
  const std::vector<Option> table = options(settings);
  parse_arguments(argc, argv, table);
  if (settings.help) {
    if (rank == 0)
      std::printf("subarray: an N-dimensional array in blocks (JSON)\n%s", describe(table).c_str());
    return 0;
  }
  check(settings, ranks);
  return run(settings, rank, ranks);
}

}  // namespace

int main(int argc, char** argv) { return bench::mpi_main("subarray", argc, argv, start); }
