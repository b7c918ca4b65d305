// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/plan.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/open/testing/test_place.hpp"
#include "client/open/testing/thread_team.hpp"

namespace millrace::client {
namespace {

using testing::Opened;
using testing::Room;
using testing::TestPlace;
using testing::ThreadTeam;

constexpr std::uint16_t ranks_of_node = 2;

// A rank, what it wants, and what it gets.
struct Rank {
  explicit Rank(std::uint16_t node) : place(node) {
    char name[] = "/proc/self/exe";  // a file that all ranks see
    wishes.path = name;
    (void)wishes.found.remember(name);
  }
  const OpenRequest& request() const { return dynamic_cast<const Opened&>(*plan.file).request(); }

  TestPlace place;
  Wishes wishes;
  Plan plan;
};

// The ranks of so many nodes.
std::vector<std::unique_ptr<Rank>> ranks_on(std::uint16_t nodes) {
  std::vector<std::unique_ptr<Rank>> ranks;
  for (std::uint16_t i = 0; i < nodes * ranks_of_node; ++i)
    ranks.push_back(std::make_unique<Rank>(static_cast<std::uint16_t>(1 + i / ranks_of_node)));
  return ranks;
}

using Protocol = Plan (*)(Team&, Place&, Wishes);

void agree(std::vector<std::unique_ptr<Rank>>& ranks, Protocol protocol) {
  Room room(static_cast<int>(ranks.size()));
  std::vector<std::thread> threads;
  for (std::size_t number = 0; number < ranks.size(); ++number) {
    threads.emplace_back([&room, &ranks, number, protocol] {
      ThreadTeam team(room, static_cast<int>(number));
      Rank& rank = *ranks[number];
      rank.plan = protocol(team, rank.place, std::move(rank.wishes));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// All ranks end with this reason.
void expect_apart(std::vector<std::unique_ptr<Rank>> ranks, Apart apart) {
  for (const auto& rank : ranks) rank->wishes.reads = true;
  ranks[0]->place.file_bytes = worth_carrying_bytes;
  agree(ranks, plan_write);
  for (const auto& rank : ranks) {
    EXPECT_TRUE(rank->plan.ours);
    EXPECT_EQ(rank->plan.apart, apart);
    EXPECT_EQ(rank->plan.through, Through::none);
    EXPECT_EQ(rank->request().left, why(apart));
    EXPECT_EQ(rank->request().routing.lanes, 0U);
  }
}

TEST(Plan, RanksOfOneNodeNeedNoAgentOfAnotherOne) {
  auto ranks = ranks_on(1);
  ranks[1]->wishes.words.factors.library = 2000;  // the other has written no such file
  agree(ranks, plan_write);
  for (const auto& rank : ranks) {
    EXPECT_TRUE(rank->plan.ours && rank->plan.one_node && rank->plan.apart == Apart::no);
    EXPECT_EQ(rank->request().factors.library, 2000U);
    EXPECT_EQ(rank->plan.group, ranks[0]->plan.group);
    EXPECT_EQ(rank->request().members, ranks_of_node);
  }
}

TEST(Plan, RanksOfSeveralNodesHaveARouteAndRankZerosSettings) {
  auto ranks = ranks_on(3);
  ranks[0]->wishes.settings.file.record_max_bytes = 12345;
  agree(ranks, plan_write);
  for (std::size_t number = 0; number < ranks.size(); ++number) {
    const Rank& rank = *ranks[number];
    EXPECT_EQ(rank.plan.apart, Apart::no);
    EXPECT_EQ(rank.plan.route, ranks[0]->plan.route);
    EXPECT_EQ(rank.request().routing.node, number / ranks_of_node);
    EXPECT_EQ(rank.request().settings.record_max_bytes, 12345U);
    EXPECT_EQ(rank.request().late, number % ranks_of_node != 0)
        << "each node's first rank registers the file";
  }
}

TEST(Plan, OneRankThatDoesNotWantItLeavesTheHandleToTheLibraryOnAll) {
  auto ranks = ranks_on(2);
  ranks[3]->wishes.words.refused = 1;
  agree(ranks, plan_write);
  for (const auto& rank : ranks) EXPECT_TRUE(!rank->plan.ours && !rank->plan.blocked);
}

TEST(Plan, OneRankThatMustNotOpenTheFileBlocksAll) {
  for (const Protocol protocol : {plan_write, plan_read}) {
    auto ranks = ranks_on(2);
    ranks[2]->wishes.words.blocked = 1;
    agree(ranks, protocol);
    for (const auto& rank : ranks) EXPECT_TRUE(!rank->plan.ours && rank->plan.blocked);
  }
}

TEST(Plan, OneNodeThatCannotLeavesTheFileToTheLibraryOnAll) {
  auto ranks = ranks_on(3);
  ranks[2]->place.agent_starts = ranks[3]->place.agent_starts = false;
  expect_apart(std::move(ranks), Apart::no_address);
  ranks = ranks_on(3);
  ranks[2]->place.is_reached = false;
  expect_apart(std::move(ranks), Apart::unreachable);
  ranks = ranks_on(3);
  ranks[4]->place.refuses = true;
  expect_apart(std::move(ranks), Apart::refused);
  ranks = ranks_on(3);
  ranks[5]->wishes.words.bypassed = 1;
  expect_apart(std::move(ranks), Apart::left_before);
  ranks = ranks_on(3);
  ranks[1]->wishes.words.incoherent = 1;
  expect_apart(std::move(ranks), Apart::incoherent);
  ranks = ranks_on(3);
  ranks[1]->wishes.alone = true;
  expect_apart(std::move(ranks), Apart::alone);
  ranks = ranks_on(3);
  ranks[0]->wishes.settings.file_servers = 0;
  expect_apart(std::move(ranks), Apart::by_setting);
}

TEST(Plan, AnIncoherentFileIsOursIfNoOtherRankCanWriteIt) {
  auto ranks = ranks_on(1);
  for (const auto& rank : ranks) rank->wishes.words.incoherent = 1;
  for (const auto& rank : ranks) rank->wishes.world = ranks_of_node;
  agree(ranks, plan_write);
  for (const auto& rank : ranks) EXPECT_EQ(rank->plan.apart, Apart::no);
  ranks = ranks_on(1);
  ranks[0]->wishes.words.incoherent = 1;
  expect_apart(std::move(ranks), Apart::incoherent);
}

TEST(Plan, AgentsCarryReadsOfALargeFileUntilARankHasWrittenIt) {
  for (const bool written : {false, true}) {
    auto ranks = ranks_on(2);
    for (const auto& rank : ranks) rank->wishes.reads = true;
    ranks[0]->place.file_bytes = worth_carrying_bytes;
    ranks[3]->wishes.words.written = written ? 1 : 0;
    agree(ranks, plan_write);
    for (const auto& rank : ranks) {
      EXPECT_EQ(rank->plan.through, written ? Through::none : Through::small);
      EXPECT_EQ(rank->request().through, !written);
    }
  }
}

TEST(Plan, AFileThatIsOnlyReadIsCopiedCarriedOrLeft) {
  const auto read = [](Stage stage, std::uint64_t bytes, bool can_copy) {
    auto ranks = ranks_on(2);
    for (const auto& rank : ranks) {
      rank->wishes.settings.stage = stage;
      rank->wishes.copy = [can_copy](Company&, const StagePlan&) { return can_copy; };
    }
    ranks[0]->place.file_bytes = bytes;
    agree(ranks, plan_read);
    for (const auto& rank : ranks) {
      EXPECT_EQ(rank->plan.ours, ranks[0]->plan.ours);
      EXPECT_EQ(rank->plan.copied, ranks[0]->plan.copied);
      EXPECT_EQ(rank->plan.through, ranks[0]->plan.through);
      EXPECT_EQ(rank->plan.file != nullptr, rank->plan.ours);
    }
    return std::move(ranks[0]->plan);
  };
  EXPECT_FALSE(read(Stage::none, worth_carrying_bytes, true).ours);
  EXPECT_FALSE(read(Stage::automatic, worth_carrying_bytes - 1, true).ours) << "too small";
  EXPECT_EQ(read(Stage::automatic, worth_carrying_bytes, true).through, Through::small)
      << "no rank has read a file of the series";
  EXPECT_EQ(read(Stage::pieces, 1, true).through, Through::all);
  EXPECT_TRUE(read(Stage::whole, 1, true).copied);
  EXPECT_EQ(read(Stage::whole, 1, false).through, Through::none);
}

// --- Files that only rank 0's node sees ---

// The ranks of so many nodes, which open such a file, and its folder.
struct OnFirst {
  explicit OnFirst(std::uint16_t nodes, int mode = O_RDWR | O_CREAT) : ranks(ranks_on(nodes)) {
    for (const auto& rank : ranks) {
      rank->place.folder = folder;
      rank->wishes.found = {};
      rank->wishes.path = path;
      rank->wishes.mode = mode;
    }
  }
  ~OnFirst() { std::filesystem::remove_all(folder); }

  static std::string new_folder() {
    std::string name = ::testing::TempDir() + "millrace-plan-XXXXXX";
    return ::mkdtemp(name.data()) != nullptr ? name : "";
  }
  void make() const { std::ofstream(path) << "bytes"; }
  bool is_there() const { return std::filesystem::exists(path); }
  // The number of files in the folder beside the file.
  auto others() const {
    const auto all = std::filesystem::directory_iterator(folder);
    return std::distance(begin(all), end(all)) - (is_there() ? 1 : 0);
  }
  void expect(int error, bool ours = true) {
    agree(ranks, plan_first);
    for (const auto& rank : ranks) {
      EXPECT_EQ(rank->plan.ours, ours);
      EXPECT_EQ(rank->plan.error, error);
    }
    EXPECT_EQ(others(), 0) << "a stand-in has a name";
  }

  const std::string folder = new_folder();
  const std::string path = folder + "/file";
  std::vector<std::unique_ptr<Rank>> ranks;
};

TEST(Plan, AFileOfOneNodeHasThatNodeAsItsFileServer) {
  OnFirst file(3);
  file.expect(0);
  EXPECT_TRUE(file.is_there());
  for (const auto& rank : file.ranks) {
    const bool here = rank->place.node() == 1;
    const OpenRequest& request = rank->request();
    EXPECT_EQ(rank->plan.elsewhere, !here);
    EXPECT_EQ(request.stand_in.empty(), here);
    EXPECT_EQ(request.routing.lanes, 1U);
    EXPECT_EQ(request.routing.stands_in, 1U);
    EXPECT_EQ(request.routing.hops[0].next.port, here ? 0 : 1);
    EXPECT_EQ(request.members, ranks_of_node);
    EXPECT_FALSE(request.late);
    EXPECT_EQ(stamp_of(rank->plan.opened.get()) == stamp_of(file.path), here);
  }
}

TEST(Plan, AFileOfOneNodeIsRefusedOnAllRanksForTheSameReason) {
  OnFirst(2, O_RDONLY).expect(ENOENT);
  OnFirst there(2, O_RDWR | O_CREAT | O_EXCL);
  there.make();
  there.expect(EEXIST);
  OnFirst other_name(2);
  other_name.ranks[1]->wishes.path += ".not";
  other_name.expect(ENOENT);
  OnFirst differs(2);
  differs.ranks[3]->wishes.alike = 1;
  differs.expect(EINVAL);
  OnFirst journal(2);
  journal.ranks[2]->wishes.settings.file.strategy = Strategy::journal;
  journal.expect(ENOTSUP);
  OnFirst full(2);
  full.ranks[2]->place.folder.clear();
  full.expect(EIO);
  for (const OnFirst* one : {&differs, &journal, &full}) EXPECT_FALSE(one->is_there());
  OnFirst refused(2);
  refused.ranks[2]->place.refuses = true;
  refused.expect(EIO);
  OnFirst cut(2);
  cut.ranks[2]->place.is_reached = false;
  cut.expect(EIO);
}

TEST(Plan, AFileOfOneNodeIsOpenedLikeAnyOtherWhereThatIsPossible) {
  OnFirst one_node(1);
  one_node.expect(0, false);
  OnFirst unwilling(2);
  unwilling.ranks[3]->wishes.words.refused = 1;
  unwilling.expect(0, false);
  for (const OnFirst* one : {&one_node, &unwilling}) EXPECT_FALSE(one->is_there());
  OnFirst seen(2);
  seen.make();
  for (const auto& rank : seen.ranks) (void)rank->wishes.found.remember(seen.path);
  seen.ranks[1]->wishes.alone = true;
  seen.expect(0, false);
}

TEST(Plan, AFileOfOneNodeThatIsOnlyReadIsCopiedUnlessARankMayWriteIt) {
  const auto copied = [](Stage stage, bool writable) {
    OnFirst file(2, O_RDONLY);
    file.make();
    (void)file.ranks[0]->wishes.found.remember(file.path);
    for (const auto& rank : file.ranks) {
      rank->wishes.settings.stage = stage;
      rank->wishes.copy = [](Company&, const StagePlan& plan) { return plan.first; };
    }
    file.ranks[3]->wishes.words.writable = writable ? 1 : 0;
    file.expect(0);
    for (const auto& rank : file.ranks) {
      EXPECT_EQ(rank->plan.copied, file.ranks[0]->plan.copied);
      EXPECT_EQ(rank->plan.through == Through::all, stage == Stage::pieces && rank->plan.elsewhere);
    }
    return file.ranks[0]->plan.copied;
  };
  EXPECT_TRUE(copied(Stage::automatic, false));
  EXPECT_TRUE(copied(Stage::whole, false));
  EXPECT_FALSE(copied(Stage::whole, true));
  EXPECT_FALSE(copied(Stage::none, false));
  EXPECT_FALSE(copied(Stage::pieces, false));
}

// --- docs/reference/ways.md ---

struct FileKind {
  const char* name;
  bool remote;
  bool coherent;
};

constexpr std::array<FileKind, 3> file_kinds{
    {{"one machine", false, true}, {"network, coherent", true, true}, {"network, other", true, false}}};
// `share`: of the last file of the series, in thousandths.
Plan plan_of(std::uint16_t nodes, bool writable, const FileKind& kind, Stage stage, std::uint32_t share) {
  auto ranks = ranks_on(nodes);
  for (const auto& rank : ranks) {
    Wishes& wishes = rank->wishes;
    wishes.reads = true;
    wishes.leads = true;
    wishes.settings.stage = stage;
    wishes.words.library_reads = writable && (kind.remote || nodes != 1) ? 1 : 0;
    wishes.words.incoherent = writable && !kind.coherent ? 1 : 0;
    wishes.world = static_cast<std::uint32_t>(ranks.size());
    wishes.share = share;
    wishes.copy = [](Company&, const StagePlan&) { return true; };
    rank->place.remote = kind.remote;
    rank->place.file_bytes = worth_carrying_bytes;
  }
  agree(ranks, writable ? plan_write : plan_read);
  return std::move(ranks[0]->plan);
}

std::string line_of_table(std::uint16_t nodes, bool writable, const FileKind& kind) {
  bool through = false;
  std::string reads;
  for (const Stage stage : {Stage::automatic, Stage::none, Stage::pieces, Stage::whole}) {
    bool own = false, small = false, all = false, copy = false;
    for (const std::uint32_t share : {History::unknown, 1000U}) {
      const Plan plan = plan_of(nodes, writable, kind, stage, share);
      through |= plan.ours && writable && plan.apart == Apart::no;
      own |= plan.reads_alone;
      small |= plan.through == Through::small;
      all |= plan.through == Through::all;
      copy |= plan.copied;
    }
    reads += std::string(" | library") + (own ? ", own pieces" : "") +
             (small ? ", servers (small pieces)" : "") + (all ? ", servers" : "") +
             (copy ? ", node copy" : "");
  }
  return std::string("| ") + (nodes == 1 ? "one" : "several") + " | " + kind.name + " | " +
         (writable ? "written" : "only read") + " | " +
         (!writable ? "-"
          : through ? "library, pipeline"
                    : "library") +
         reads + " |";
}

// The page has one line for each case, as the protocol decides it.
TEST(Plan, TheGuideHasTheTableOfWays) {
  std::string expected;
  for (const std::uint16_t nodes : {std::uint16_t{1}, std::uint16_t{2}})
    for (const FileKind& kind : file_kinds)
      for (const bool writable : {true, false})
        if (nodes == 1 || kind.remote) expected += line_of_table(nodes, writable, kind) + "\n";
  std::ifstream page(MILLRACE_SOURCE_DIR "/docs/reference/ways.md");
  std::string found, line;
  while (std::getline(page, line))
    if (line.starts_with("| one |") || line.starts_with("| several |")) found += line + "\n";
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace millrace::client
