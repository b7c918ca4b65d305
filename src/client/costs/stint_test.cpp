// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/costs/stint.hpp"

#include <gtest/gtest.h>

#include "base/settings.hpp"

namespace millrace::client {
namespace {

constexpr Expected some{5'000'000, 3'000'000};

TEST(Stint, OfAFileThatWentOneWayTheTimesOfItsCallsAreComparedWithWhatWasExpected) {
  Stint stint;
  for (int i = 0; i < 4; ++i) {
    stint.moved(false, MiB, some, false);
    stint.took(6'000);
  }
  const Ways ways = stint.end(999);
  EXPECT_EQ(ways.direct.took_ns, 24'000U);
  EXPECT_EQ(ways.direct.expected_ns, 20'000U);
  EXPECT_EQ(ways.pipeline.expected_ns, 0U);
}

TEST(Stint, OfThePipelineTheWaitsCount) {
  Stint stint;
  stint.moved(true, 4 * MiB, some, true);
  stint.took(6'000);
  const Ways ways = stint.end(999);
  EXPECT_EQ(ways.pipeline.took_ns, 999U);
  EXPECT_EQ(ways.pipeline.expected_ns, 3'000U);
  EXPECT_EQ(ways.direct.expected_ns, 0U);
}

TEST(Stint, SmallFilesBothWaysRequestsAndUnforeseenSyncsSayNothing) {
  const auto says = [](const Stint& stint) {
    const Ways ways = stint.end(1'000);
    return ways.direct.expected_ns + ways.pipeline.expected_ns != 0;
  };
  Stint small, both, request, synced, whole;
  small.moved(false, MiB, some, false);
  EXPECT_FALSE(says(small));
  both.moved(false, 4 * MiB, some, false);
  both.moved(true, MiB, some, false);
  EXPECT_FALSE(says(both));
  request.moved(false, 4 * MiB, some, true);
  EXPECT_FALSE(says(request));
  synced.moved(false, 4 * MiB, some, false);
  synced.spoil();
  EXPECT_FALSE(says(synced));
  whole.moved(false, 8 * MiB, some, false);
  whole.moved(true, MiB, some, false);
  EXPECT_TRUE(says(whole)) << "an eighth the other way does not matter";
}

TEST(Observations, AreSumsOfOneFileSystem) {
  Observations observations;
  observations.add(7, {{10, 1}, {}});
  observations.add(7, {{10, 1}, {5, 5}});
  EXPECT_EQ(observations.all().ways.direct.took_ns, 20U);
  EXPECT_EQ(observations.all().ways.pipeline.expected_ns, 5U);
  observations.add(8, {{1, 1}, {}});
  EXPECT_EQ(observations.all().file_system, 8U);
  EXPECT_EQ(observations.all().ways.direct.took_ns, 1U);
  EXPECT_EQ(observations.all().ways.pipeline.took_ns, 0U);
}

}  // namespace
}  // namespace millrace::client
