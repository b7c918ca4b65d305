// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/policy.hpp"

#include <gtest/gtest.h>

#include <tuple>

namespace millrace::client {
namespace {

TEST(Policy, SmallPiecesTakeThePipelineLargeOnesDoNot) {
  const Settings settings;
  EXPECT_TRUE(choose(settings, settings.file, {256, 1, false, false}).pipeline);
  EXPECT_TRUE(choose(settings, settings.file, {64 * KiB, 16, false, false}).pipeline);
  EXPECT_FALSE(choose(settings, settings.file, {64 * MiB, 1, false, false}).pipeline);
  EXPECT_FALSE(choose(settings, settings.file, {direct_above_default, 1, true, false}).pipeline);
}

TEST(Policy, ManyPiecesTakeThePipelineUpToLargerOnes) {
  const Settings settings;
  EXPECT_TRUE(choose(settings, settings.file, {16 * 64 * KiB, 16, false, false}).pipeline);
  EXPECT_FALSE(choose(settings, settings.file, {16 * MiB, 16, false, false}).pipeline);
}

TEST(Policy, AChosenStrategyAlwaysTakesThePipeline) {
  Settings settings;
  settings.file.strategy = Strategy::sort;
  EXPECT_TRUE(choose(settings, settings.file, {64 * MiB, 1, false, false}).pipeline);
}

TEST(Policy, DirectCallsStayDirectWhateverTheStrategy) {
  Settings settings;
  settings.file.strategy = Strategy::sort;
  settings.direct_calls = {"collective", "nonblocking"};
  EXPECT_FALSE(choose(settings, settings.file, {100, 1, true, false}).pipeline);
  EXPECT_FALSE(choose(settings, settings.file, {100, 1, false, true}).pipeline);
  EXPECT_TRUE(choose(settings, settings.file, {100, 1, false, false}).pipeline);
}

TEST(Policy, TheThresholdCanBeSet) {
  Settings settings;
  settings.direct_above_bytes = 1 * MiB;
  EXPECT_TRUE(choose(settings, settings.file, {512 * KiB, 1, false, false}).pipeline);
}

TEST(Policy, WhereItIsNotSureTheCostsOfTheSeriesDecide) {
  const Settings settings;
  const auto way = [&](std::uint64_t bytes, Costs costs, bool stable = false) {
    return choose(settings, settings.file, {bytes, 1, false, false, stable, costs});
  };
  EXPECT_TRUE(way(32 * KiB, {}).unsure);
  EXPECT_FALSE(way(32 * KiB, {}).pipeline) << "the rule";
  EXPECT_TRUE(way(32 * KiB, {0, 500}).pipeline) << "a trial of the other way";
  EXPECT_TRUE(way(32 * KiB, {400, 500}).pipeline);
  EXPECT_FALSE(way(32 * KiB, {460, 500}).pipeline) << "less than a tenth";
  EXPECT_TRUE(way(128 * KiB, {460, 500}, true).pipeline) << "here the rule is the other way";
  EXPECT_FALSE(way(128 * KiB, {500, 400}, true).pipeline);
  EXPECT_FALSE(way(128 * KiB, {500, 0}, true).pipeline);
  EXPECT_FALSE(way(16 * KiB, {500, 400}, true).pipeline) << "far below its bound, but one call costs little";
  EXPECT_TRUE(way(12 * KiB, {500, 400}, true).pipeline);
}

TEST(Policy, WhereItIsSureCostsDoNotMatter) {
  const Settings settings;
  for (const auto& [bytes, pieces, stable] :
       {std::tuple{256u, 1u, false}, {4u << 20, 1u, false}, {1u << 17, 16u, true}, {4096u, 1u, true}}) {
    const Choice rule = choose(settings, settings.file, {bytes, pieces, false, false, stable, {}});
    EXPECT_FALSE(rule.unsure);
    for (const Costs costs : {Costs{1, 1000}, Costs{1000, 1}})
      EXPECT_EQ(choose(settings, settings.file, {bytes, pieces, false, false, stable, costs}).pipeline,
                rule.pipeline);
  }
}

TEST(FlushWatch, ManySmallFlushesInARowTurnTheFileDirect) {
  FlushWatch watch;
  for (std::uint32_t i = 0; i < small_flushes_max; ++i) EXPECT_FALSE(watch.flushed(100)) << i;
  EXPECT_TRUE(watch.flushed(100));
}

TEST(FlushWatch, OneLargeFlushStartsTheCountAgain) {
  FlushWatch watch;
  for (std::uint32_t i = 0; i < small_flushes_max; ++i) EXPECT_FALSE(watch.flushed(100));
  EXPECT_FALSE(watch.flushed(small_flush_bytes));
  for (std::uint32_t i = 0; i < small_flushes_max; ++i) EXPECT_FALSE(watch.flushed(100));
}

}  // namespace
}  // namespace millrace::client
