// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// The I/O of NAS BT-IO (NPB 3 BT, "full" and "simple"): the solution is appended to one shared file every
// five time steps and read back at the end. The solver itself is replaced by a settable time. `io_s` counts
// from opening to closing; NPB counts the outputs and the close alone, which is `npb_io_s`.
#include <unistd.h>

#include <chrono>
#include <thread>

#include "btio/field.hpp"
#include "common/args.hpp"
#include "common/json.hpp"
#include "common/mpi.hpp"

namespace {

using namespace bench;

struct Settings {
  char problem = 'S';
  int n = 12, steps = 60, interval = 5;
  bool full = true, sync = false, warm = true, keep = false, read_only = false, help = false;
  bool check_mpi_read = true, check_plain = true, busy = true, mark_ranks = false, barrier = true;
  long compute_ms = 0, repetitions = 1;
  std::uint64_t seed = 0;
  std::string file = "btio.full.out";
  Hints hints;

  int dumps() const { return steps / interval; }
  std::uint64_t output_bytes() const { return 40ULL * static_cast<std::uint64_t>(n) * n * n; }
  std::uint64_t file_bytes() const { return output_bytes() * static_cast<std::uint64_t>(dumps()); }
};

void set_class(Settings& s, const std::string& value) {
  static const struct {
    char name;
    int n, steps;
  } classes[] = {{'S', 12, 60}, {'W', 24, 200}, {'A', 64, 200}, {'B', 102, 200}, {'C', 162, 200}};
  for (const auto& c : classes) {
    if (value.size() == 1 && (value[0] & ~0x20) == c.name) {
      s.problem = c.name, s.n = c.n, s.steps = c.steps;
      return;
    }
  }
  throw BadUsage("there are classes S, W, A, B and C, not '" + value + "'");
}

bool one_of(const std::string& value, const char* yes, const char* no) {
  if (value != yes && value != no) throw BadUsage("'" + value + "' is neither " + yes + " nor " + no);
  return value == yes;
}

void set_check(Settings& s, const std::string& v) {
  if (v != "both" && v != "mpi" && v != "plain" && v != "none") {
    throw BadUsage("there is both, mpi, plain and none, not '" + v + "'");
  }
  s.check_mpi_read = v == "both" || v == "mpi";
  s.check_plain = v == "both" || v == "plain";
}

std::vector<Option> options(Settings& s) {
  return {
      {'C', "class", "S|W|A|B|C", "size: 12, 24, 64, 102 or 162 points cubed (S)",
       [&](auto& v) { set_class(s, v); }},
      {'m', "mode", "full|simple", "collective with types, or a call per row (full)",
       [&](auto& v) { s.full = one_of(v, "full", "simple"); }},
      {'o', "file", "FILE", "file to write (btio.full.out)", [&](auto& v) { s.file = v; }},
      {0, "steps", "N", "time steps, a multiple of 5 (60 for S, else 200)",
       [&](auto& v) {
         s.steps = static_cast<int>(parse_number(v, 5, 100000));
         if (s.steps % 5 != 0) throw BadUsage("it must be a multiple of 5");
       }},
      {0, "compute", "MS", "time that replaces the solver in each step (0)",
       [&](auto& v) { s.compute_ms = parse_number(v, 0, 1000000); }},
      {0, "compute-kind", "busy|sleep", "how that time passes (busy)",
       [&](auto& v) { s.busy = one_of(v, "busy", "sleep"); }},
      {0, "meet", "barrier|neighbours",
       "before each output; neighbours: by messages, as BT's solver does (barrier)",
       [&](auto& v) { s.barrier = one_of(v, "barrier", "neighbours"); }},
      {'e', "sync", "", "MPI_File_sync before close", [&](auto&) { s.sync = true; }},
      {0, "verify", "both|mpi|plain|none", "read back by MPI-IO as BT does, by plain reads (both)",
       [&](auto& v) { set_check(s, v); }},
      {'i', "repetitions", "N", "repetitions (1)",
       [&](auto& v) { s.repetitions = parse_number(v, 1, 10000); }},
      {'G', "seed", "N", "seed of the data (0)",
       [&](auto& v) { s.seed = static_cast<std::uint64_t>(parse_number(v, 0, 1L << 40)); }},
      {0, "hint", "NAME=VALUE", "an MPI_Info hint for MPI_File_open",
       [&](auto& v) {
         const std::size_t at = v.find('=');
         if (at == 0 || at == std::string::npos) throw BadUsage("'" + v + "' is not NAME=VALUE");
         s.hints.emplace_back(v.substr(0, at), v.substr(at + 1));
       }},
      {0, "mark-ranks", "", "every value is the number of the rank that wrote it; nothing is verified",
       [&](auto&) { s.mark_ranks = true; }},
      {0, "no-warm", "", "do not touch and free memory before each run", [&](auto&) { s.warm = false; }},
      {'k', "keep", "", "leave the file", [&](auto&) { s.keep = true; }},
      {'r', "read-only", "",
       "write nothing; read the file that a run with --keep and the same options has left",
       [&](auto&) { s.read_only = true; }},
      {'h', "help", "", "this text", [&](auto&) { s.help = true; }},
  };
}

// read_s counts the reads alone; read_back_s counts open, view and close too.
enum { open_s, view_s, write_s, sync_s, close_s, io_s, total_s, read_s, read_back_s, time_count };

// One whole run: open, outputs between computations, close, read back.
class Run {
 public:
  Run(const Settings& s, Field& field) : s_(s), field_(field) {
    MPI_Type_contiguous(5, MPI_DOUBLE, &point_);
    MPI_Type_commit(&point_);
    memory_ = field.memory_type(point_);
    place_ = field.file_type(point_);
  }
  ~Run() {
    MPI_Type_free(&point_);
    MPI_Type_free(&memory_);
    MPI_Type_free(&place_);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  std::vector<double> times = std::vector<double>(time_count);
  long calls = 0;

  void write() {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now_s();
    timed(open_s, [&] { file_ = open_mpi_file(s_.file, MPI_MODE_RDWR | MPI_MODE_CREATE, s_.hints); });
    timed(view_s, [&] { set_view(); });
    for (int dump = 0; dump < s_.dumps(); dump++) {
      compute();
      s_.mark_ranks ? field_.mark(dump) : field_.fill(dump);
      meet();
      timed(write_s, [&] { s_.full ? write_full(dump) : write_simple(dump); });
    }
    if (s_.sync) timed(sync_s, [&] { check_mpi(MPI_File_sync(file_), "MPI_File_sync"); });
    timed(close_s, [&] { check_mpi(MPI_File_close(&file_), "MPI_File_close"); });
    times[io_s] = times[open_s] + times[view_s] + times[write_s] + times[sync_s] + times[close_s];
    times[total_s] = now_s() - begin;
  }

  long read_back() {
    long wrong = 0;
    timed(read_back_s, [&] {
      file_ = open_mpi_file(s_.file, MPI_MODE_RDONLY, s_.hints);
      set_view();
    });
    for (int dump = 0; dump < s_.dumps(); dump++) {
      field_.clear();
      MPI_Barrier(MPI_COMM_WORLD);
      timed(read_s, [&] { s_.full ? read_full(dump) : read_simple(dump); });
      wrong += field_.wrong_rows(dump);
    }
    timed(read_back_s, [&] { check_mpi(MPI_File_close(&file_), "MPI_File_close"); });
    times[read_back_s] += times[read_s];
    return wrong;
  }

 private:
  template <class Step>
  void timed(int which, Step step) {
    const double begin = now_s();
    step();
    times[static_cast<std::size_t>(which)] += now_s() - begin;
  }
  void compute() const {
    if (s_.compute_ms == 0) return;
    const double seconds = static_cast<double>(s_.compute_ms) * 1e-3 * s_.interval;
    if (!s_.busy) {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
      return;
    }
    for (const double end = now_s() + seconds; now_s() < end;) continue;
  }
  // The solver's exchange lets no rank run far ahead. Between two neighbours it is a message, so an I/O layer
  // that orders writes at collective calls has no work here.
  void meet() const {
    if (s_.barrier) {
      MPI_Barrier(MPI_COMM_WORLD);
      return;
    }
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Sendrecv(nullptr, 0, MPI_BYTE, (rank + 1) % ranks, 0, nullptr, 0, MPI_BYTE,
                 (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  void set_view() {
    check_mpi(MPI_File_set_view(file_, 0, s_.full ? point_ : MPI_DOUBLE, s_.full ? place_ : MPI_DOUBLE,
                                "native", MPI_INFO_NULL),
              "MPI_File_set_view");
  }
  MPI_Offset full_offset(int dump) const { return static_cast<MPI_Offset>(field_.points()) * dump; }
  void write_full(int dump) {
    MPI_Status status;
    calls++;
    check_mpi(MPI_File_write_at_all(file_, full_offset(dump), field_.data(), 1, memory_, &status),
              "MPI_File_write_at_all");
    check_count(status, memory_, 1, "MPI_File_write_at_all");
  }
  void read_full(int dump) {
    MPI_Status status;
    check_mpi(MPI_File_read_at_all(file_, full_offset(dump), field_.data(), 1, memory_, &status),
              "MPI_File_read_at_all");
    check_count(status, memory_, 1, "MPI_File_read_at_all");
  }
  void write_simple(int dump) {
    field_.for_each_row(dump, [&](double* row, int count, std::uint64_t index) {
      MPI_Status status;
      calls++;
      check_mpi(MPI_File_write_at(file_, static_cast<MPI_Offset>(index), row, count, MPI_DOUBLE, &status),
                "MPI_File_write_at");
      check_count(status, MPI_DOUBLE, count, "MPI_File_write_at");
    });
  }
  void read_simple(int dump) {
    field_.for_each_row(dump, [&](double* row, int count, std::uint64_t index) {
      MPI_Status status;
      check_mpi(MPI_File_read_at(file_, static_cast<MPI_Offset>(index), row, count, MPI_DOUBLE, &status),
                "MPI_File_read_at");
      check_count(status, MPI_DOUBLE, count, "MPI_File_read_at");
    });
  }

  const Settings& s_;
  Field& field_;
  MPI_Datatype point_, memory_, place_;
  MPI_File file_ = MPI_FILE_NULL;
};

double mega_operations(const Settings& s) {  // NPB's count for BT
  const double n = s.n;
  return 1e-6 * s.steps * (3478.8 * n * n * n - 17655.7 * n * n + 28023.7 * n);
}

void report(const Settings& s, int ranks, const std::vector<std::vector<double>>& runs, long calls,
            long errors) {
  Json json("btio");
  json.put("mpi", mpi_version()).put("ranks", ranks);
  json.object("parameters").put("class", std::string(1, s.problem)).put("mode", s.full ? "full" : "simple");
  json.put("points", s.n).put("steps", s.steps).put("outputs", s.dumps()).put("compute_ms", s.compute_ms);
  json.put("compute_kind", s.busy ? "busy" : "sleep")
      .put("meet", s.barrier ? "barrier" : "neighbours")
      .put("sync", s.sync)
      .put("file", s.file)
      .put("warm", s.warm);
  json.put("repetitions", s.repetitions).put("seed", s.seed).close();
  json.put("bytes", s.file_bytes()).put("calls", calls);
  std::vector<double> io, mib_s, read_mib_s;
  const double mib = static_cast<double>(s.file_bytes()) / (1 << 20);
  json.list("repetitions");
  for (const std::vector<double>& t : runs) {
    io.push_back(t[io_s]);
    mib_s.push_back(mib / t[io_s]);
    read_mib_s.push_back(mib / t[read_back_s]);
    json.object()
        .put("io_s", t[io_s])
        .put("mib_s", mib_s.back())
        .put("open_s", t[open_s])
        .put("view_s", t[view_s]);
    json.put("npb_io_s", t[write_s] + t[close_s])
        .put("write_s", t[write_s])
        .put("sync_s", t[sync_s])
        .put("close_s", t[close_s])
        .put("total_s", t[total_s]);
    json.put("mop_s", mega_operations(s) / t[total_s]);
    json.put("read_s", t[read_s]).put("read_back_s", t[read_back_s]).close();
  }
  json.close();
  if (!s.read_only) {
    const Spread a = spread(io), b = spread(mib_s);
    json.object("write").put("min_mib_s", b.min).put("median_mib_s", b.median).put("max_mib_s", b.max);
    json.put("min_io_s", a.min).put("median_io_s", a.median).put("max_io_s", a.max).close();
  }
  if (s.check_mpi_read) {
    const Spread c = spread(read_mib_s);
    json.object("read").put("min_mib_s", c.min).put("median_mib_s", c.median).put("max_mib_s", c.max).close();
  }
  const bool checked = s.check_mpi_read || s.check_plain;
  json.put("checked", checked).put("errors", errors).put("verified", checked && errors == 0);
  std::fputs(json.finish().c_str(), stdout);
}

int run(const Settings& s, int rank, int ranks) {
  Field field(rank, ranks, s.n, s.seed);
  std::vector<std::vector<double>> runs;
  long calls = 0, errors = 0;
  for (long i = 0; i < s.repetitions; i++) {
    if (!s.read_only) prepare_run(s.file, s.file_bytes(), s.warm, rank, ranks);
    Run one(s, field);
    if (!s.read_only) one.write();
    MPI_Barrier(MPI_COMM_WORLD);
    if (s.check_plain) errors += check_share(s.file, s.file_bytes(), s.seed, rank, ranks);
    if (s.check_mpi_read) errors += one.read_back();
    runs.push_back(max_over_ranks(one.times));
    calls = sum_over_ranks(one.calls);
  }
  errors = sum_over_ranks(errors);
  if (rank == 0) {
    if (!s.keep) remove_file(s.file);
    report(s, ranks, runs, calls, errors);
  }
  return errors == 0 ? 0 : 1;
}

int start(int argc, char** argv, int rank, int ranks) {
  Settings settings;
  const std::vector<Option> table = options(settings);
  parse_arguments(argc, argv, table);
  if (settings.help) {
    if (rank == 0) std::printf("btio: the I/O of NAS BT-IO (JSON)\n%s", describe(table).c_str());
    return 0;
  }
  const int p = square_root(ranks);
  if (p * p != ranks) throw BadUsage("the number of ranks must be a square, not " + std::to_string(ranks));
  if (settings.mark_ranks && settings.read_only)
    throw BadUsage("--read-only verifies the values, which --mark-ranks replaces: use one of them");
  if (settings.mark_ranks) settings.check_mpi_read = settings.check_plain = false;
  if (settings.read_only) settings.check_mpi_read = true;
  if (settings.n / p < 3)
    throw BadUsage("cells would be smaller than 3 points: use fewer ranks or a larger class");
  return run(settings, rank, ranks);
}

}  // namespace

int main(int argc, char** argv) { return bench::mpi_main("btio", argc, argv, start); }
