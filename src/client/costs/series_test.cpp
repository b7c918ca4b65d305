// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/costs/series.hpp"

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace millrace::client
