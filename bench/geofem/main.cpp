// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// A finite-element solver as GeoFEM's cube benchmark has it: how fast, and how near to what memory allows.
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iomanip>

#include "common/args.hpp"
#include "common/json.hpp"
#include "common/mpi.hpp"
#include "geofem/memory.hpp"
#include "geofem/settings.hpp"
#include "geofem/solver.hpp"

namespace {

using namespace bench;
using namespace bench::geofem;

// The largest allowed error of the displacement, relative to the largest exact one. If elements give the
// displacement exactly, the tolerance decides (the matrix magnifies it by about the square of the number of
// nodes along a side); else the elements' own error.
double allowed_error(const Settings& s, const Triple& nodes) {
  const auto side = static_cast<double>(*std::max_element(nodes.begin(), nodes.end()));
  const auto shortest = static_cast<double>(*std::min_element(nodes.begin(), nodes.end()) - 1);
  const double solved = s.tolerance * side;
  return s.problem == "traction" ? solved : solved + 2 / (shortest * shortest);
}

int allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

Triple whole_cuboid(const Settings& s, int ranks) {
  if (s.whole[0] != 0) return s.whole;
  const Triple cores = near_cube(static_cast<long>(ranks) * s.threads);
  return {s.per_core[0] * cores[0], s.per_core[1] * cores[1], s.per_core[2] * cores[2]};
}

struct Setup {
  double ordering_s = 0, assembly_s = 0;
  long colours = 0;  // of the rank that has most
};

class Run {
 public:
  Run(const Settings& s, const Triple& nodes, const Triple& grid, int rank, int ranks)
      : s_(s),
        grid_(grid),
        rank_(rank),
        ranks_(ranks),
        domain_(nodes, grid, rank),
        problem_(s.problem, nodes) {}

  int run() {
    const double began = now_s();
    const Colours colours = colour(own_graph(domain_), s_.ordering, s_.colours);
    layout_ = lay_out(colours, s_.threads);
    const double ordered = now_s();
    const Matrix matrix = assemble(domain_, problem_, layout_);
    make_load();
    const std::vector<double> most = max_over_ranks(
        {ordered - began, now_s() - ordered, static_cast<double>(colours.count), 1.0 / allowed_cpus()});
    setup_ = {most[0], most[1], static_cast<long>(most[2])};
    cpus_ = static_cast<int>(std::lround(1 / most[3]));
    if (rank_ == 0 && cpus_ < s_.threads) {
      std::fprintf(stderr, "geofem: %d threads share %d processor(s): let the launcher not bind ranks\n",
                   s_.threads, cpus_);
    }
    Halo halo(domain_, layout_);
    Solver solver(matrix, layout_, halo, domain_.externals());
    if (s_.limit) memory_ = measure_memory(solver.memory(), s_.threads);
    for (long i = 0; i < s_.repetitions; i++) {
      solutions_.push_back(solver.solve(load_, s_.tolerance, s_.most_iterations));
    }
    check(solver);
    if (!s_.dump.empty()) dump(matrix, solver);
    report(solver);
    return verified_ ? 0 : 1;
  }

 private:
  Triple node_of(std::size_t row) const { return domain_.node(layout_.old_of_new[row]); }

  void make_load() {
    load_.resize(3 * layout_.old_of_new.size());
    for (std::size_t row = 0; row < layout_.old_of_new.size(); row++) {
      std::ranges::copy(problem_.load(node_of(row)), load_.begin() + static_cast<long>(3 * row));
    }
  }

  void check(const Solver& solver) {
    double error = 0, largest = 0;
    for (std::size_t row = 0; row < layout_.old_of_new.size(); row++) {
      const Vector exact = problem_.exact(node_of(row));
      for (std::size_t i = 0; i < 3; i++) {
        const double difference = std::abs(solver.displacement()[3 * row + i] - exact[i]);
        error = difference <= error ? error : difference;  // also where it is not a number
        largest = std::max(largest, std::abs(exact[i]));
      }
    }
    const std::vector<double> most = max_over_ranks({error, largest});
    error_ = most[0] / most[1];
    allowed_error_ = allowed_error(s_, domain_.nodes());
    verified_ = error_ <= allowed_error_;
    for (const Solution& one : solutions_) {
      // The residual computed anew may differ a little from the residual of the iteration.
      verified_ = verified_ && one.converged && one.residual <= 1.1 * s_.tolerance;
    }
  }

  // Lines "A row column value", "b row value", "x row value", for the unknowns of the whole cuboid.
  void dump(const Matrix& matrix, const Solver& solver) const {
    const std::string name = s_.dump + "." + std::to_string(rank_);
    std::ofstream out(name);
    out << std::setprecision(17);
    for (std::size_t row = 0; row < layout_.old_of_new.size(); row++) {
      const Triple node = node_of(row);
      const long first = 3 * domain_.global_number(node);
      for (std::size_t i = 0; i < 3; i++) {
        const long own = first + static_cast<long>(i);
        out << "b " << own << ' ' << load_[3 * row + i] << '\n';
        out << "x " << own << ' ' << solver.displacement()[3 * row + i] << '\n';
        for (std::size_t j = 0; j < 3; j++) {
          out << "A " << own << ' ' << first + static_cast<long>(j) << ' '
              << matrix.diagonal[9 * row + i + 3 * j] << '\n';
        }
      }
      for (const BlockRows* part : {&matrix.lower, &matrix.upper, &matrix.outside}) {
        dump_row(out, *part, row, first);
      }
    }
    if (!out.flush()) throw std::runtime_error("cannot write " + name);
  }
  void dump_row(std::ofstream& out, const BlockRows& part, std::size_t row, long first) const {
    for (std::size_t k = part.first[row]; k < part.first[row + 1]; k++) {
      const long other = 3 * column_number(part.column[k]);
      for (std::size_t i = 0; i < 9; i++) {
        out << "A " << first + static_cast<long>(i % 3) << ' ' << other + static_cast<long>(i / 3) << ' '
            << part.value[9 * k + i] << '\n';
      }
    }
  }
  // The number in the whole cuboid of a column: an own row, or an external node.
  long column_number(int column) const {
    if (column < domain_.size()) return domain_.global_number(node_of(static_cast<std::size_t>(column)));
    for (long around = 0; around < domain_.size() * 27; around++) {
      const Triple node = domain_.node(around / 27);
      const long way = around % 27;
      const Triple other{node[0] + way % 3 - 1, node[1] + way / 3 % 3 - 1, node[2] + way / 9 - 1};
      if (domain_.exists(other) && !domain_.owns(other) &&
          domain_.external_number(other) == column - domain_.size()) {
        return domain_.global_number(other);
      }
    }
    throw std::runtime_error("an external node that is nowhere");
  }

  void put_solutions(Json& json, double flops, double bytes) const {
    std::vector<double> seconds, gflops;
    for (const Solution& one : solutions_) {
      seconds.push_back(one.seconds);
      gflops.push_back(flops * static_cast<double>(one.iterations) / one.seconds * 1e-9);
    }
    const Solution& last = solutions_.back();
    const auto iterations = static_cast<double>(last.iterations);
    const Spread time = spread(seconds), rate = spread(gflops);
    json.put("iterations", last.iterations).put("residual", last.residual);
    json.object("seconds").put("min", time.min).put("median", time.median).put("max", time.max).close();
    json.object("gflops").put("min", rate.min).put("median", rate.median).put("max", rate.max).close();
    json.put("flops_per_iteration", flops).put("bytes_per_iteration", bytes);
    json.put("gb_s", bytes * iterations / time.median * 1e-9);
    if (!s_.limit) return;
    json.object("limit").put("triad_gb_s", memory_.triad * 1e-9).put("read_gb_s", memory_.read * 1e-9);
    json.put("working_set_bytes", working_set_).put("gflops", memory_.triad * flops / bytes * 1e-9).close();
    json.put("fraction_of_limit", bytes * iterations / memory_.triad / time.median);
    json.put("fraction_of_read", bytes * iterations / memory_.read / time.median);
  }

  // Of the slowest rank in each.
  void put_parts(Json& json, const std::vector<double>& parts) const {
    json.object("parts_s").put("preconditioner", parts[0]).put("product", parts[1]);
    json.put("vectors", parts[2]).put("communication", parts[3]).close();
  }

  void report(const Solver& solver) {
    const std::vector<double> own{solver.flops(), solver.bytes(), static_cast<double>(solver.memory())};
    std::vector<double> all(3);
    MPI_Allreduce(own.data(), all.data(), 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    const Solution& last = solutions_.back();
    const std::vector<double> parts =
        max_over_ranks({last.preconditioner_s, last.product_s, last.vectors_s, last.communication_s});
    for (Solution& one : solutions_) one.seconds = max_over_ranks({one.seconds})[0];
    if (rank_ != 0) return;
    working_set_ = all[2];
    const Triple& nodes = domain_.nodes();
    Json json("geofem");
    json.put("mpi", mpi_version()).put("ranks", ranks_).put("threads", s_.threads);
    json.put("model", s_.threads == 1 ? std::string("flat MPI")
                                      : "HB " + std::to_string(s_.threads) + "x" + std::to_string(ranks_));
    json.put("cpus_of_a_rank", cpus_).put("problem", s_.problem).list("nodes");
    for (const long n : nodes) json.put("", n);
    json.close().list("grid");
    for (const long n : grid_) json.put("", n);
    json.close().put("unknowns", 3 * volume(nodes)).put("tolerance", s_.tolerance);
    json.object("ordering").put("kind", s_.ordering).put("wanted", s_.colours);
    json.put("colours", setup_.colours).close();
    json.object("setup_s").put("ordering", setup_.ordering_s).put("assembly", setup_.assembly_s).close();
    json.put("repetitions", s_.repetitions);
    put_solutions(json, all[0], all[1]);
    put_parts(json, parts);
    json.put("element", problem_.edge()).put("error", error_).put("allowed_error", allowed_error_);
    json.put("verified", verified_);
    std::fputs(json.finish().c_str(), stdout);
  }

  const Settings& s_;
  Triple grid_;
  int rank_, ranks_, cpus_ = 0;
  Domain domain_;
  Problem problem_;
  Layout layout_;
  std::vector<double> load_;
  Setup setup_;
  MemoryRates memory_;
  double working_set_ = 0;
  std::vector<Solution> solutions_;
  double error_ = 0, allowed_error_ = 0;
  bool verified_ = false;
};

int start(int argc, char** argv, int rank, int ranks) {
  const Settings settings = parse(argc, argv);
  if (settings.help) {
    if (rank == 0) std::fputs(help_text().c_str(), stdout);
    return 0;
  }
  const Triple nodes = whole_cuboid(settings, ranks);
  for (const long n : nodes) {
    if (n < 2) throw BadUsage("a cuboid has at least 2 nodes along each side");
  }
  const Triple grid = best_grid(nodes, ranks);
  if (grid[0] == 0) throw BadUsage("so few nodes cannot be divided among so many ranks: choose more nodes");
  return Run(settings, nodes, grid, rank, ranks).run();
}

}  // namespace

int main(int argc, char** argv) { return bench::mpi_main("geofem", argc, argv, start, MPI_THREAD_FUNNELED); }
