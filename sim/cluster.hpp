// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/file/file.hpp"
#include "leftovers.hpp"
#include "node.hpp"
#include "oracle.hpp"
#include "rank_process.hpp"
#include "run.hpp"
#include "scenario.hpp"
#include "settling.hpp"
#include "staging.hpp"
#include "virtual_place.hpp"
#include "virtual_team.hpp"

namespace millrace::sim {

// A rank's handle that reads through the agents, or as a guest. In runs that read until they write, it is the
// rank's file.
struct Reader {
  struct Reading {
    const client::FileView* view;
    Extent positions;
    std::vector<std::byte> memory;  // with a guard on both sides
    std::uint32_t fresh, ordered;   // the reader's, when it began
    std::unique_ptr<client::PendingRead> read = {};
  };
  std::unique_ptr<client::File> file;
  std::optional<io::Handle> handle;                // the MPI library's, while that handle is open
  bool through = false;                            // all agents know the file; otherwise it asks as a guest
  std::shared_ptr<const client::Meeting> untried;  // a late meeting, until the first read
  bool blind = false;             // its agent had gone before: it cannot ask for the bytes of older handles
  std::vector<Reading> readings;  // whose bytes are on their way
  bool had_window = false;
  bool refreshed = false;     // what it has read ahead is dropped
  std::uint32_t fresh = 0;    // the oracle's moment since when it may have read ahead
  std::uint32_t ordered = 0;  // when the ranks had last met before
};

// A rank. Its program is straight code in a fiber of its own, over the shipped client. After an error the
// rank writes no more, but it still meets the other ranks, and closes the file.
struct Rank {
  std::uint32_t number = 0;
  std::uint32_t node = 0;
  const std::vector<Step>* program = nullptr;
  std::size_t step = 0;
  std::unique_ptr<RankProcess> process;
  std::unique_ptr<VirtualPlace> place;   // of that process
  std::unique_ptr<client::File> file;    // nullptr: the file is the MPI library's alone, or is not open
  std::unique_ptr<client::File> second;  // a handle that only reads, in some runs
  std::size_t opened = 0;                // how often it has opened the file
  Reader reader;
  bool written = false;  // this open has written the file, which is read through the agents until then
  std::optional<io::Handle> handle;  // the MPI library's, of the same file, while it is open
  std::vector<std::byte> memory;     // the source of its writes
  std::vector<client::Piece> pieces;
  bool at_barrier = false;
  bool over = false;
  bool gone = false;          // it has died
  bool closed = false;        // without an error
  std::uint64_t owed_ps = 0;  // of processor time
  Status error;
};

// A run: all its machines, ranks and faults. Owns them. Not thread safe, because all fibers run in one
// thread.
class Cluster {
 public:
  Cluster(const Scenario& scenario, bool keep_trace);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  Outcome run();

 private:
  World world() { return {timeline_, trace_, net_, disk_, processors_}; }
  // The settings of a rank on that node.
  Settings settings_of(std::uint32_t node) const;
  bool connect_all();
  Status connect(Rank& rank);
  void count_opening();
  bool open_all();
  bool play();
  bool looks_on(const Rank& rank) const;
  std::vector<Seat*> seats(bool all) const;  // of the ranks that open the file together, or of all
  Assembly& assemble(Rank& rank);
  client::Wishes wishes_of(const Rank& rank, const transport::RoutePlan& plan, millrace::Stage stage) const;
  using Protocol = client::Plan (*)(client::Team&, client::Place&, client::Wishes);
  client::Plan agree(Rank& rank, Protocol protocol, client::Wishes wishes);
  Status open(Rank& rank);
  // Parts of a rank's program, which run in its fiber.
  void live(Rank& rank);
  void think(Rank& rank);
  void pay(Rank& rank);
  void take(Rank& rank, const Step& step);
  void write(Rank& rank, const Step& step);
  Status write(Rank& rank, std::uint64_t bytes);
  Status write_directly(Rank& rank);
  Status sieve(Rank& rank);
  Status write_past(Rank& rank, Status status);
  void read(Rank& rank, Extent extent);
  void read_from_server(Rank& rank, Extent extent);
  void sync(Rank& rank);
  void arrive(Rank& rank);
  void turn(Rank& rank, client::Reason why_direct);
  void close(Rank& rank);
  void note(Rank& rank, const char* what, std::uint64_t one = 0, std::uint64_t other = 0);
  bool told(Rank& rank, Status status);
  void check_patience(const Rank& rank, Status status);
  void meet(Rank& rank);
  void release();
  void end(Rank& rank);
  void vanish(Rank& rank);
  void acknowledge(const Rank& rank, bool stable, bool there);
  void acknowledge_closes();
  void acknowledge_old(std::uint32_t node);
  void acknowledge_killed();
  bool may_be_gone() const { return scenario_.loses_caches() || disk_.has_refused(); }
  void check_read(const Rank& rank, std::span<const std::byte> file, Extent extent, std::uint32_t begun);
  void befall(const Fault& fault);
  void befall(const Meanwhile& meanwhile);
  void rename(bool to_another_folder);
  // The node's agent dies. `host`: the host dies too. `ranks`: the node's ranks die too.
  void crash(std::uint32_t node, bool host, bool ranks);
  void kill_ranks(std::uint32_t node);
  bool all_over() const;
  bool all_idle() const;
  bool step_until(std::uint64_t until_ns, bool (Cluster::*done)() const);
  // For a file that is opened again (reopen.cpp).
  bool open_again(const Opening& opening);
  void lasts(const Fault& fault) { calm_ns_ = std::max(calm_ns_, timeline_.now_ns() + fault.for_ns); }
  void calm(std::uint64_t after_ns);
  void make_anew(std::uint64_t bytes);
  bool settle(const Opening& opening);
  bool all_settled() const;
  bool replace_agents(bool all);
  void begin_again(const Opening& opening);
  static bool stays(const Rank& rank, const Opening& next);
  // For reads through the agents (reader.cpp).
  client::File* reader_of(const Rank& rank) const;
  void show_size();
  void plan_read_faults();
  void open_reader(Rank& rank);
  void read_through(Rank& rank, const Step& step);
  Status read_from_file(Rank& rank, const client::FileView& view, Extent positions,
                        std::span<std::byte> memory);
  bool start_reading(Rank& rank, Reader::Reading& reading, Status& got);
  void end_reading(Rank& rank, Reader::Reading reading, Status got);
  void end_reading(Rank& rank, std::size_t which);
  void end_readings(Rank& rank, const Step& step);
  void check_pieces(const Rank& rank, const Reader::Reading& reading);
  void sync_reader(Rank& rank);
  void close_reader(Rank& rank);
  void leave_agents(Rank& rank);
  void tell_writes(Rank& rank);
  void check_window(Rank& rank);
  // For a staged file (staging.cpp).
  void stage(Rank& rank);
  Staging& current_staging();
  void read_copy(Rank& rank, const Staging& staging, const Held& copy);
  void judge_copies();
  std::uint64_t staged_bytes() const;
  void judge_lines();
  void judge();
  void judge(std::span<const std::byte> file, bool stable, const char* what);
  std::vector<std::byte> recovered();
  void problem(const std::string& text);
  std::string who(const Rank& rank) const;
  std::string stand_in(std::uint32_t node) const {
    return folder_.path() + "/stand-in-" + std::to_string(openings_) + "-" + std::to_string(node);
  }
  // True if the rank's node has a stand-in.
  bool is_elsewhere(const Rank& rank) const { return !stand_ins_.empty() && rank.node != 0; }
  // The file that ranks on that node read and register.
  const Fd& file_of(const Rank& rank) const { return is_elsewhere(rank) ? stand_ins_[rank.node - 1] : file_; }

  static constexpr std::size_t most_problems = 10;
  static constexpr std::uint64_t think_ns = 50'000;                // at most, between a rank's requests
  static constexpr std::uint64_t longest_ns = 10'000'000'000'000;  // the longest run

  Scenario scenario_;  // programs and faults of the current opening
  io::Timeline timeline_;
  io::Trace trace_;
  io::VirtualNet net_;
  io::VirtualDisk disk_;
  Processors processors_;
  Folder folder_;  // the file, and each node's journals: real names, virtual contents
  std::string path_;
  Fd file_;
  std::vector<Fd> stand_ins_;  // of all nodes but the first
  Oracle oracle_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Rank> ranks_;
  std::vector<std::unique_ptr<Settling>> settling_;    // by node
  std::vector<std::unique_ptr<Staging>> stagings_;     // so far; the last one may still go on
  std::vector<io::Timeline::Event> planned_;           // faults
  std::uint64_t calm_ns_ = 0;                          // the end of the faults that have begun
  const Opening* next_ = nullptr;                      // the opening after this one
  std::uint32_t openings_ = 0;                         // so far
  bool moved_ = false;                                 // the file is in another folder
  std::uint32_t names_ = 0;                            // that the file has got
  bool disk_failed_ = false;                           // in an earlier opening
  std::uint32_t old_errors_ = 0;                       // of earlier openings
  std::vector<std::unique_ptr<Assembly>> assemblies_;  // one for each time that the programs open the file
  std::vector<std::unique_ptr<Recovering>> beside_;    // recoveries by command, beside those of settling_
  bool anew_ = false;                                  // another file has taken the first one's name
  bool crashed_ = false;                               // an agent, or a node with it
  std::uint32_t met_ = 0;                              // the oracle's moment when the ranks last met
  bool written_ = false;                               // when they last met, a rank had written
  bool failed_ = false;  // a rank has met the others with an error, so no rank writes any more
  std::uint32_t errors_ = 0;
  std::uint32_t copies_ = 0;
  bool reads_began_ = false;     // the times of their faults count from then on
  std::uint64_t reads_ = 0;      // begun, of handles that read through the agents
  std::uint64_t through_ = 0;    // reads through the agents
  std::vector<std::byte> seen_;  // as far as the last read has it; scratch
  std::uint64_t over_ns_ = 0;    // when the last rank ended
  std::uint64_t steps_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace millrace::sim
