// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/policy.hpp"

#include <gtest/gtest.h>

#include <string>

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

TEST(Policy, a_series_of_files_is_known_by_its_names_without_digits) {
  MixedSeries series;
  EXPECT_FALSE(series.has("/scratch/run7/step0001.h5"));
  series.add("/scratch/run7/step0001.h5");
  EXPECT_TRUE(series.has("/scratch/run7/step0012.h5"));
  EXPECT_FALSE(series.has("/scratch/run7/plot0012.h5"));
  for (char c = 'a'; c <= 'z'; ++c) {
    series.add(std::string("x") + c);
    series.add(std::string("y") + c);
    series.add(std::string("z") + c);
  }
  EXPECT_FALSE(series.has("/scratch/run7/step0001.h5")) << "bounded: the oldest is forgotten";
  EXPECT_TRUE(series.has("zz"));
}

}  // namespace
}  // namespace millrace::client
