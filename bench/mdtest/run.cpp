// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "mdtest/run.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>

#include "common/mpi.hpp"
#include "mdtest/calls.hpp"
#include "mdtest/tree.hpp"

namespace bench::mdtest {
namespace {

using Call = std::function<void(Tree&, std::uint64_t item)>;

class Iterations {
 public:
  Iterations(const Settings& s, MPI_Comm comm) : s_(s), comm_(comm), calls_(s) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
    if (!s.random) return;
    shuffled_.resize(s.items);
    std::iota(shuffled_.begin(), shuffled_.end(), std::uint64_t{0});
    std::mt19937_64 random(static_cast<std::uint64_t>(s.random_seed + rank_));
    for (std::size_t i = shuffled_.size(); i > 1; i--) std::swap(shuffled_[i - 1], shuffled_[random() % i]);
  }

  Measured run() {
    for (long i = 0; i < s_.iterations; i++) iterate(i);
    Measured all;
    all.ranks = ranks_;
    for (std::size_t op = 0; op < operation_count; op++) {
      all.seconds[op].resize(own_[op].size());
      check_mpi(MPI_Reduce(own_[op].data(), all.seconds[op].data(), static_cast<int>(own_[op].size()),
                           MPI_DOUBLE, MPI_MAX, 0, comm_),
                "MPI_Reduce");
      all.items[op] = s_.items * static_cast<std::uint64_t>(ranks_);
    }
    all.items[tree_create] = all.items[tree_remove] = s_.directories;
    long errors = calls_.errors();
    check_mpi(MPI_Reduce(&errors, &all.errors, 1, MPI_LONG, MPI_SUM, 0, comm_), "MPI_Reduce");
    return all;
  }

 private:
  void barrier() const { check_mpi(MPI_Barrier(comm_), "MPI_Barrier"); }
  void pause() const {
    if (s_.delay_s > 0) ::sleep(static_cast<unsigned>(s_.delay_s));
  }

  void iterate(long iteration) {
    folder_ = s_.directory + "/test-dir." + std::to_string(iteration) + "-0";
    trees_.clear();
    if (s_.create && rank_ == 0) calls_.make_directory(folder_.c_str());
    if (s_.create) {
      each_tree(tree_create, [this](const std::vector<std::string>& paths) {
        for (const std::string& path : paths) calls_.make_directory(path.c_str());
      });
    }
    if (s_.dirs) directories();
    if (s_.files) files();
    barrier();
    if (s_.remove) {
      each_tree(tree_remove, [this](const std::vector<std::string>& paths) {
        std::for_each(paths.rbegin(), paths.rend(),
                      [this](const std::string& path) { calls_.remove_directory(path.c_str()); });
      });
      if (rank_ == 0) calls_.remove_directory(folder_.c_str());
    } else if (s_.create && rank_ == 0) {
      count_entries();
    }
    barrier();
  }

  void directories() {
    pause();
    const Call make = [this](Tree& t, std::uint64_t item) { calls_.make_directory(t.dir(item)); };
    const Call stat = [this](Tree& t, std::uint64_t item) { calls_.stat_directory(t.dir(item)); };
    const Call remove = [this](Tree& t, std::uint64_t item) { calls_.remove_directory(t.dir(item)); };
    if (s_.create) change(dir_create, 0, make);
    if (s_.stat) access(dir_stat, 1, stat);
    if (s_.rename && s_.items > 1) {
      const int target = target_of(1);
      tree(target);
      phase(dir_rename, [&] { rename_all(tree(target)); });
    }
    if (s_.remove) change(dir_remove, 3, remove);
  }

  void files() {
    pause();
    const Call make = [this](Tree& t, std::uint64_t item) { calls_.make_file(t.file(item), seed(item)); };
    const Call touch = [this](Tree& t, std::uint64_t item) { calls_.touch_file(t.file(item)); };
    const Call stat = [this](Tree& t, std::uint64_t item) { calls_.stat_file(t.file(item)); };
    const Call read = [this](Tree& t, std::uint64_t item) { calls_.read_file(t.file(item), seed(item)); };
    const Call remove = [this](Tree& t, std::uint64_t item) { calls_.remove_file(t.file(item)); };
    if (s_.create && s_.rank_0_creates) {
      // As MDTEST: rank 0 makes them, then each rank opens and writes its own, all in one time.
      for (int target = 0; rank_ == 0 && target < ranks_; target++) tree(target);
      tree(rank_);
      phase(file_create, [&] {
        for (int target = 0; rank_ == 0 && target < ranks_; target++) in_order(target, touch);
        barrier();
        in_order(rank_, make);
      });
    } else if (s_.create) {
      change(file_create, 0, make);
    }
    if (s_.stat) access(file_stat, 1, stat);
    if (s_.read) access(file_read, 2, read);
    if (s_.remove) change(file_remove, 3, remove);
  }

  // Whose items this rank works on in a phase.
  int target_of(long hops) const { return static_cast<int>((rank_ + hops * s_.shift) % ranks_); }
  std::uint64_t seed(std::uint64_t item) const {
    return s_.shared_file ? item : (static_cast<std::uint64_t>(target_) << 40) + item;
  }

  // Made when it is first asked for, which should be before the time begins.
  Tree& tree(int target) {
    std::unique_ptr<Tree>& slot = trees_[target];
    if (!slot) {
      const std::string name = s_.unique ? "mdtest_tree." + std::to_string(target) : "mdtest_tree";
      slot = std::make_unique<Tree>(s_, folder_, name, s_.shared_file ? "shared" : std::to_string(target));
    }
    return *slot;
  }

  // The time of one phase: from a barrier to a barrier. With a tree for each rank it begins where the
  // directory's creation is known, unless -t says otherwise.
  void phase(Operation operation, const std::function<void()>& body) {
    if (s_.barriers) barrier();
    double began = now_s();
    if (s_.unique && (operation == dir_create || operation == file_create)) {
      barrier();
      if (!s_.time_unique) began = now_s();
    }
    body();
    if (s_.sync_phases) ::sync();
    if (s_.barriers) barrier();
    own_[operation].push_back(now_s() - began);
  }

  void in_order(int target, const Call& call) {
    target_ = target;
    Tree& of = tree(target);
    for (const std::uint64_t item : of.creation_order()) call(of, item);
  }

  // Creates or removes; with -c rank 0 does it for all ranks. Shared files are removed once.
  void change(Operation operation, long hops, const Call& call) {
    const bool removes = operation == file_remove || operation == dir_remove;
    std::vector<int> targets;
    if (!s_.rank_0_creates) {
      if (!s_.shared_file || !removes || rank_ == 0) targets.push_back(target_of(hops));
    } else if (rank_ == 0) {
      for (int target = 0; target < ranks_; target++) targets.push_back(target);
    }
    for (const int target : targets) tree(target);
    phase(operation, [&] {
      for (const int target : targets) in_order(target, call);
    });
  }

  // Looks at items in the order of their numbers, or at random.
  void access(Operation operation, long hops, const Call& call) {
    target_ = target_of(hops);
    Tree& of = tree(target_);
    phase(operation, [&] {
      for (std::uint64_t i = 0; i < s_.items; i++) call(of, of.first_item() + (s_.random ? shuffled_[i] : i));
    });
  }

  // The first goes out of the way, each other one takes the name of the one before it, and the first that of
  // the last.
  void rename_all(Tree& of) {
    const std::uint64_t first = of.first_item(), last = first + s_.items - 1;
    const std::string aside = std::string(of.dir(first)) + "-XX";
    std::string free = aside;
    for (std::uint64_t item = first; item <= last; item++) {
      const std::string own = item == last ? aside : of.dir(item);
      calls_.rename_directory(own.c_str(), free.c_str());
      free = own;
    }
  }

  template <class Work>
  void each_tree(Operation operation, Work work) {
    std::vector<int> targets;
    if (!s_.unique) {
      if (rank_ == 0) targets.push_back(0);
    } else if (!s_.rank_0_creates) {
      targets.push_back(rank_);
    } else if (rank_ == 0) {
      for (int target = 0; target < ranks_; target++) targets.push_back(target);
    }
    for (const int target : targets) tree(target);
    barrier();
    const double began = now_s();
    for (const int target : targets) work(tree(target).directories());
    barrier();
    own_[operation].push_back(now_s() - began);
  }

  // Nothing else looks at what stays: is everything there?
  void count_entries() {
    const auto ranks = static_cast<std::uint64_t>(ranks_);
    std::uint64_t files = 0, dirs = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
      entry.is_directory() ? dirs++ : files++;
    }
    const std::uint64_t all_files = s_.files ? s_.items * (s_.shared_file ? 1 : ranks) : 0;
    const std::uint64_t all_dirs =
        s_.directories * (s_.unique ? ranks : 1) + (s_.dirs ? s_.items * ranks : 0);
    if (files != all_files || dirs != all_dirs) {
      calls_.problem("not all files and directories are in", folder_.c_str(), false);
    }
  }

  const Settings& s_;
  MPI_Comm comm_;
  int rank_ = 0, ranks_ = 1, target_ = 0;
  Calls calls_;
  std::string folder_;
  std::vector<std::uint64_t> shuffled_;
  std::map<int, std::unique_ptr<Tree>> trees_;
  std::array<std::vector<double>, operation_count> own_;
};

}  // namespace

Measured measure(const Settings& s, MPI_Comm comm) { return Iterations(s, comm).run(); }

}  // namespace bench::mdtest
