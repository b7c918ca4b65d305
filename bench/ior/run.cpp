// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "ior/run.hpp"

#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>

#include "common/json.hpp"
#include "common/mpi.hpp"
#include "common/pattern.hpp"
#include "common/system.hpp"
#include "ior/file.hpp"
#include "ior/offsets.hpp"

namespace bench {
namespace {

// Seconds of one phase: the slowest rank's, from a common barrier.
struct Times {
  double total = 0, open = 0, io = 0, sync = 0, close = 0;
};

struct Results {
  std::vector<Times> writes, reads;
  std::uint64_t calls = 0;  // of all ranks in one repetition
  long errors = 0;
};

class Runner {
 public:
  Runner(const IorOptions& options, int rank, int ranks)
      : o_(options), rank_(rank), ranks_(ranks), buffer_(options.transfer + 64) {
    comm_ = o_.file_per_process ? MPI_COMM_SELF : MPI_COMM_WORLD;
  }

  Results run() {
    for (long i = 0; i < o_.repetitions; i++) {
      repetition_ = i;
      if (o_.delay_s > 0) ::sleep(static_cast<unsigned>(o_.delay_s));
      if (o_.write) results_.writes.push_back(write_phase());
      if (o_.check_write) check_files();
      if (o_.read) results_.reads.push_back(read_phase());
      const bool keep = o_.keep || (o_.keep_on_error && results_.errors > 0);
      MPI_Barrier(MPI_COMM_WORLD);
      if (!keep && (o_.multi_file || i + 1 == o_.repetitions || !o_.use_existing)) remove_files();
    }
    return results_;
  }

 private:
  std::string path_of(int rank) const {
    std::string path = o_.file;
    char suffix[32];
    if (o_.file_per_process) {
      if (o_.unique_directory) {
        const std::string directory = directory_of(path) + "/" + std::to_string(rank);
        const std::size_t slash = path.rfind('/');
        path = directory + "/" + (slash == std::string::npos ? path : path.substr(slash + 1));
      }
      std::snprintf(suffix, sizeof suffix, ".%08d", rank);
      path += suffix;
    }
    if (o_.multi_file) {
      std::snprintf(suffix, sizeof suffix, ".%ld", repetition_);
      path += suffix;
    }
    return path;
  }
  // The data of every file differs, so that one file cannot pass for another.
  std::uint64_t seed_of(int rank) const {
    return o_.seed + (o_.file_per_process ? static_cast<std::uint64_t>(rank) << 41 : 0);
  }

  void problem(const std::string& text) {
    std::fprintf(stderr, "ior: rank %d: %s\n", rank_, text.c_str());
    errors_++;
    if (o_.quit_on_error) bench::abort_job();
  }
  // Errors of all ranks since the last call; the ranks meet here.
  void count_errors() {
    long all = 0;
    MPI_Allreduce(&errors_, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    errors_ = 0;
    results_.errors += all;
  }

  void remove_files() {
    try {
      if (o_.file_per_process || rank_ == 0) remove_file(path_of(rank_));
      if (o_.unique_directory) ::rmdir(directory_of(path_of(rank_)).c_str());
    } catch (const std::exception& reason) {
      problem(reason.what());
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }

  void prepare_write() {
    if (!o_.use_existing) remove_files();
    if (o_.unique_directory && ::mkdir(directory_of(path_of(rank_)).c_str(), 0755) != 0 && errno != EEXIST) {
      problem("cannot make a directory: " + std::string(std::strerror(errno)));
    }
    if (rank_ == 0) sync_file_system(o_.file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!o_.warm) return;
    const std::uint64_t all =
        file_bytes(o_, ranks_) * static_cast<std::uint64_t>(o_.file_per_process ? ranks_ : 1);
    warm_memory(all, static_cast<unsigned>(ranks_), [] { MPI_Barrier(MPI_COMM_WORLD); });
  }

  // Opens, calls `body(file, offsets)`, syncs if asked, closes; a failed rank still takes part in closing.
  template <class Body>
  Times timed(bool writing, int target, Body body) {
    const Offsets offsets(o_, target, ranks_);
    std::uint64_t calls = offsets.count();
    MPI_Reduce(&calls, &results_.calls, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    std::memset(buffer_.data(), 0x5a, buffer_.size());
    Times t;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now_s();
    std::unique_ptr<TestFile> file;
    attempt([&] { file = open_file(o_, path_of(target), writing, comm_, target, ranks_); });
    if (o_.barriers) MPI_Barrier(MPI_COMM_WORLD);
    const double opened = now_s();
    if (file) attempt([&] { body(*file, offsets); });
    const double moved = now_s();
    if (file && writing && o_.fsync) attempt([&] { file->sync(); });
    if (o_.barriers) MPI_Barrier(MPI_COMM_WORLD);
    const double synced = now_s();
    if (file) attempt([&] { file->close(); });
    const double closed = now_s();
    const double own[5] = {closed - begin, opened - begin, moved - opened, synced - moved, closed - synced};
    double all[5];
    MPI_Allreduce(own, all, 5, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    t.total = all[0], t.open = all[1], t.io = all[2], t.sync = all[3], t.close = all[4];
    count_errors();
    return t;
  }
  template <class Step>
  void attempt(Step step) {
    try {
      step();
    } catch (const std::exception& reason) {
      problem(reason.what());
    }
  }

  Times write_phase() {
    prepare_write();
    return timed(true, rank_, [&](TestFile& file, const Offsets& offsets) {
      const std::uint64_t seed = seed_of(rank_);
      for (std::uint64_t i = 0; i < offsets.count(); i++) {
        const std::uint64_t at = offsets[i];
        if (!o_.no_fill) fill(buffer_.data(), o_.transfer, at, seed);
        file.write(buffer_.data(), o_.transfer, at);
        if (o_.fsync_per_write) file.sync();
      }
    });
  }

  int read_target() const {
    if (o_.reorder) return static_cast<int>((rank_ + o_.reorder_offset) % ranks_);
    if (!o_.reorder_random) return rank_;
    std::vector<int> order(static_cast<std::size_t>(ranks_));
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(static_cast<std::uint64_t>(o_.reorder_seed));
    for (std::size_t i = order.size(); i > 1; i--) std::swap(order[i - 1], order[random() % i]);
    return order[static_cast<std::size_t>(rank_)];
  }

  Times read_phase() {
    const int target = read_target();
    return timed(false, target, [&](TestFile& file, const Offsets& offsets) {
      const std::uint64_t seed = seed_of(target);
      for (std::uint64_t i = 0; i < offsets.count(); i++) {
        const std::uint64_t at = offsets[i];
        file.read(buffer_.data(), o_.transfer, at);
        if (!o_.check_read) continue;
        const std::size_t bad = mismatch(buffer_.data(), o_.transfer, at, seed);
        if (bad != no_mismatch) {
          // Counted, but the loop goes on: a collective read must not lose a rank.
          if (errors_ < 3)
            problem("read a wrong byte at offset " + std::to_string(at + bad));
          else
            errors_++;
        }
      }
    });
  }

  // Each rank compares its share of the shared file, or its own file, in large pieces, with plain reads, like
  // any later program.
  void check_files() {
    const std::string path = path_of(rank_);
    const std::uint64_t size = file_bytes(o_, ranks_);
    std::uint64_t begin = 0, end = size;
    if (!o_.file_per_process) {
      begin = size / static_cast<unsigned>(ranks_) * static_cast<unsigned>(rank_);
      if (rank_ + 1 < ranks_) end = begin + size / static_cast<unsigned>(ranks_);
    }
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0 && static_cast<std::uint64_t>(info.st_size) != size &&
        !o_.use_existing) {
      problem(path + ": has " + std::to_string(info.st_size) + " bytes, not " + std::to_string(size));
    }
    const FileCheck result = check_file(path.c_str(), begin, end, seed_of(rank_));
    if (!result.ok) problem(result.message);
    count_errors();
  }

  const IorOptions& o_;
  int rank_, ranks_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<unsigned char> buffer_;
  long repetition_ = 0;
  long errors_ = 0;
  Results results_;
};

void put_direction(Json& json, const char* name, const std::vector<Times>& all, std::uint64_t bytes) {
  if (all.empty()) return;
  std::vector<double> mib_s;
  json.object(name).list("repetitions");
  for (const Times& t : all) {
    mib_s.push_back(static_cast<double>(bytes) / (1 << 20) / t.total);
    json.object().put("mib_s", mib_s.back()).put("seconds", t.total).put("open_s", t.open).put("io_s", t.io);
    json.put("sync_s", t.sync).put("close_s", t.close).close();
  }
  const Spread s = spread(mib_s);
  json.close().put("min_mib_s", s.min).put("median_mib_s", s.median).put("max_mib_s", s.max).close();
}

void print_report(const IorOptions& o, int ranks, const Results& results) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  const std::string first_line(version, std::strcspn(version, "\n"));
  const std::uint64_t bytes =
      file_bytes(o, ranks) * static_cast<std::uint64_t>(o.file_per_process ? ranks : 1);
  Json json("ior");
  json.put("mpi", first_line).put("ranks", ranks);
  json.object("parameters").put("api", o.api).put("preset", o.preset).put("block", o.block);
  json.put("transfer", o.transfer).put("segments", o.segments).put("collective", o.collective);
  json.put("file_per_process", o.file_per_process).put("random", o.random).put("file_view", o.file_view);
  json.put("fsync", o.fsync).put("fsync_per_write", o.fsync_per_write).put("repetitions", o.repetitions);
  json.put("file", o.file).put("check_write", o.check_write).put("check_read", o.check_read);
  json.put("warm", o.warm).put("seed", o.seed).close();
  json.put("bytes", bytes).put("calls", results.calls);
  put_direction(json, "write", results.writes, bytes);
  put_direction(json, "read", results.reads, bytes);
  json.put("checked", o.check_write || o.check_read);
  json.put("errors", results.errors);
  json.put("verified", (o.check_write || o.check_read) && results.errors == 0);
  std::fputs(json.finish().c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

int run_ior(const IorOptions& options, int rank, int ranks) {
  Runner runner(options, rank, ranks);
  const Results results = runner.run();
  if (rank == 0) print_report(options, ranks, results);
  return results.errors == 0 ? 0 : 1;
}

}  // namespace bench
