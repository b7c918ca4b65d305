// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "flows.hpp"
#include "pipeline.hpp"
#include "plan_text.hpp"
#include "sort_buffer.hpp"

namespace millrace::model {
namespace {

constexpr std::uint64_t mib = 1 << 20;

PipelinePlan small_plan(Strategy strategy, bool merge, std::uint64_t sort_buffer) {
  PipelinePlan plan;
  plan.nodes = 4;
  plan.ranks_per_node = 4;
  plan.strategy = strategy;
  plan.merge = merge;
  plan.sort_buffer = sort_buffer;
  plan.pattern = {.kind = PatternKind::ior, .transfer = 4096, .block = 16384, .segments = 64};
  plan.client.request_ns = 1000;
  plan.client.record_ns = 1000;
  plan.link.bytes_per_second = 100 * mib;
  plan.server.disk_bytes_per_second = 40 * mib;
  plan.server.seek_ns = 1'000'000;
  return plan;
}

TEST(Writes, OfAllRanksCoverTheFileOnce) {
  const Pattern patterns[] = {
      {.kind = PatternKind::ior, .transfer = 1024, .block = 4096, .segments = 3},
      {.kind = PatternKind::btio_simple, .grid = 13, .outputs = 2},
      {.kind = PatternKind::btio_full, .grid = 13, .outputs = 2},
  };
  for (const Pattern& pattern : patterns) {
    std::map<std::uint64_t, std::uint64_t> pieces;
    for (std::uint32_t rank = 0; rank < 16; ++rank) {
      for (Writes writes(pattern, rank, 16); !writes.over(); writes.next_output())
        while (const auto piece = writes.next())
          EXPECT_TRUE(pieces.emplace(piece->offset, piece->end()).second);
    }
    std::uint64_t at = 0;
    for (const auto& [begin, end] : pieces) {
      EXPECT_EQ(begin, at);
      at = end;
    }
    EXPECT_EQ(at, Writes::file_bytes(pattern, 16));
  }
}

TEST(SortBuffer, MergesNeighboursWhileTheyFitIntoABlock) {
  SortBuffer buffer(4 * 100, 100, true);
  for (const std::uint64_t offset : {0, 80, 40}) buffer.insert({offset, 40});
  EXPECT_EQ(buffer.take_least().bytes, 80u);  // the third would not fit
  EXPECT_EQ(buffer.take_least().offset, 80u);
  EXPECT_TRUE(buffer.empty());
}

TEST(SortBuffer, GivesABlockToEachRecordThatIsNotMerged) {
  SortBuffer buffer(2 * 100, 100, false);
  buffer.insert({0, 1});
  EXPECT_FALSE(buffer.full());
  buffer.insert({1, 1});
  EXPECT_TRUE(buffer.full());
}

TEST(Pipeline, BringsEveryByteToTheDiskWithEveryStrategy) {
  for (const Strategy strategy : {Strategy::immediate, Strategy::sort, Strategy::journal}) {
    for (const bool merge : {false, true}) {
      const PipelineResult result = run(small_plan(strategy, merge, mib));
      EXPECT_EQ(result.bytes, 16 * mib);
      EXPECT_GE(result.disk_busy_ns, 400'000'000u);  // 16 MiB at 40 MiB/s
      EXPECT_GE(result.end_ns, result.disk_busy_ns);
    }
  }
}

TEST(Pipeline, SortsWhatFitsIntoTheBuffersWithoutASeek) {
  EXPECT_EQ(run(small_plan(Strategy::sort, true, 8 * mib)).gaps, 0u);
  EXPECT_GT(run(small_plan(Strategy::sort, true, 256 << 10)).gaps, 0u);
  EXPECT_GT(run(small_plan(Strategy::immediate, false, 0)).seeks, 1000u);
}

TEST(Pipeline, IsTheSameEachTime) {
  const PipelinePlan plan = small_plan(Strategy::sort, true, mib);
  const PipelineResult first = run(plan), second = run(plan);
  EXPECT_EQ(first.end_ns, second.end_ns);
  EXPECT_EQ(first.events, second.events);
}

std::string answer_to(const std::string& text) {
  std::istringstream plans(text);
  std::ostringstream answers;
  answer(plans, answers);
  return answers.str();
}

TEST(Flows, ShareALink) {
  const std::string found =
      answer_to("flows\nstation link 1 1000000000 0 0\nflow 2\nstep 3\nstage link 1000 0\nend\n");
  EXPECT_NE(found.find(R"("end_ns": 6006)"), std::string::npos) << found;
}

TEST(PlanText, SaysWhatIsWrong) {
  for (const char* text :
       {"nonsense\n", "flows\nstage a 1 1\n", "flows\nflow x\n", "pipeline\nstrategy best\n",
        "pipeline\npage 0\npattern btio-full\n", "pipeline\nstrategy sort\nsort_buffer 1\n",
        "flows\nflow 1\nstep 0\n", "pipeline\nnodes -1\n"})
    EXPECT_THROW((void)answer_to(text), PlanError) << text;
}

}  // namespace
}  // namespace millrace::model
