// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/series.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/settings.hpp"

namespace millrace::client {
namespace {

TEST(MixedSeries, IsKnownByTheNamesOfItsFilesWithoutDigits) {
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

TEST(Trials, CostsAreKnownFromTheSecondFileOnAndFollowTheLastTwo) {
  Trials trials;
  trials.add("/a/step1", true, 2 * MiB, 2'000);
  EXPECT_EQ(trials.costs("/a/step2").pipeline, 0U);
  trials.add("/a/step2", true, 4 * MiB, 2'000);
  EXPECT_EQ(trials.costs("/a/step3").pipeline, 500U) << "the better of two";
  EXPECT_EQ(trials.costs("/a/step3").direct, 0U);
  EXPECT_EQ(trials.costs("/b/step3").pipeline, 0U) << "another series";
  trials.add("/a/step3", true, MiB, 800);
  trials.add("/a/step4", true, MiB, 900);
  EXPECT_EQ(trials.costs("/a/step5").pipeline, 800U) << "what was is forgotten";
  trials.add("/a/step5", false, MiB, 0);
  trials.add("/a/step6", false, MiB, 0);
  EXPECT_EQ(trials.costs("/a/step7").direct, 1U) << "0 would say that it is not known";
}

TEST(Trials, AreBounded) {
  Trials trials;
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 100; ++i)
      trials.add("/a/" + std::string(static_cast<std::size_t>(i), 'x'), true, MiB, 100);
  EXPECT_EQ(trials.costs("/a/").pipeline, 0U);
  EXPECT_EQ(trials.costs("/a/" + std::string(99, 'x')).pipeline, 0U) << "pushed out between its two files";
}

class StintTest : public testing::Test {
 protected:
  // Two files alike, so that their cost is known.
  Costs after(const std::function<void(Stint&)>& file, std::uint64_t total) {
    for (int i = 0; i < 2; ++i) {
      Stint stint;
      file(stint);
      stint.end(trials, "file", total);
    }
    return trials.costs("file");
  }
  Trials trials;
};

TEST_F(StintTest, GivesTheCostOfTheWayThatTheBytesWent) {
  const auto file = [](Stint& stint) {
    EXPECT_FALSE(stint.timed());
    stint.moved(false, 4 * MiB, false);
    EXPECT_TRUE(stint.timed());
    stint.took(4'000);
    stint.took(4'000);
  };
  const Costs costs = after(file, 4 * MiB);
  EXPECT_EQ(costs.direct, 2'000U);
  EXPECT_EQ(costs.pipeline, 0U);
}

TEST_F(StintTest, SaysNothingOfFilesThatAreMixedOrSmallOrNotTimed) {
  const auto direct = [](std::uint64_t bytes, bool nonblocking) {
    return [=](Stint& stint) {
      stint.moved(false, bytes, nonblocking);
      stint.took(1'000);
    };
  };
  EXPECT_EQ(after(direct(4 * MiB, false), 5 * MiB).direct, 0U) << "other transfers";
  EXPECT_EQ(after(direct(MiB, false), MiB).direct, 0U) << "too little";
  EXPECT_EQ(after(direct(4 * MiB, true), 4 * MiB).direct, 0U) << "non-blocking";
  const auto both = [](Stint& stint) {
    stint.moved(false, 4 * MiB, false);
    stint.moved(true, 3 * MiB, false);
  };
  EXPECT_EQ(after(both, 7 * MiB).direct, 0U);
}

}  // namespace
}  // namespace millrace::client
