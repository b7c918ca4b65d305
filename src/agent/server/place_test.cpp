// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/server/place.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <initializer_list>

namespace millrace::agent {
namespace {

using transport::Processors;

Processors set(std::initializer_list<std::size_t> ones) {
  Processors made;
  for (const std::size_t one : ones) made.add(one);
  return made;
}

TEST(Processors, AreWrittenAsTheKernelWritesThem) {
  EXPECT_EQ(set({}).text(), "");
  EXPECT_EQ(set({3}).text(), "3");
  EXPECT_EQ(set({0, 1, 2, 5, 63, 64, 1023}).text(), "0-2,5,63-64,1023");
}

TEST(ProcessorChoice, IsWhatNoRankIsBoundTo) {
  ProcessorChoice choice;
  choice.add(set({0}), set({0, 1, 2, 3}));
  choice.add(set({2}), set({0, 1, 2, 3}));
  EXPECT_EQ(choice.of(set({0, 1, 2, 3, 4, 5})), set({1, 3}));
}

TEST(ProcessorChoice, IsAllOfTheJobIfRanksAreBoundToEachOfThem) {
  ProcessorChoice choice;
  choice.add(set({0}), set({0, 1}));
  choice.add(set({1}), set({0, 1}));
  EXPECT_EQ(choice.of(set({0, 1, 2, 3})), set({0, 1}));
}

TEST(ProcessorChoice, IsAllOfTheJobIfNoRankIsBound) {
  ProcessorChoice choice;
  choice.add(set({4, 5}), set({4, 5}));
  EXPECT_EQ(choice.of(set({0, 1, 4, 5})), set({4, 5}));
}

TEST(ProcessorChoice, KeepsToWhatTheKernelAllows) {
  ProcessorChoice choice;
  const Processors all = Processors::all();
  choice.add(set({6}), all);  // as srun binds a rank: the control group alone has the job's processors
  EXPECT_EQ(choice.of(set({6, 7})), set({7}));
  choice.add(set({7}), all);
  EXPECT_EQ(choice.of(set({6, 7})), set({6, 7}));
}

TEST(ProcessorChoice, IsEmptyIfNobodyTells) { EXPECT_TRUE(ProcessorChoice().of(set({0, 1})).empty()); }

TEST(Placement, MovesThisProcess) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "needs two processors";
  Processors job, first;
  for (std::size_t one = 0; one < Processors::most; ++one) {
    if (!CPU_ISSET(one, &before)) continue;
    if (first.empty()) first.add(one);
    job.add(one);
  }
  Placement place;
  place.add(first, job);
  EXPECT_EQ(place.text(), job.without(first).text());
  place.add({}, {});
  EXPECT_EQ(place.text(), job.without(first).text());
  EXPECT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace millrace::agent
