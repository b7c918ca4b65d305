// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "staging/cuda/cuda_device.hpp"
#include "staging/cuda/find.hpp"
#include "staging/cuda/library.hpp"

// Tests for a program that has not loaded the driver.
namespace millrace::staging::cuda {
namespace {

TEST(CudaAbsent, APreloadFindsNoDeviceAndLoadsNothing) {
  std::string why;
  EXPECT_EQ(driver(false, why), nullptr);
  EXPECT_EQ(why, "the program has not loaded the CUDA driver");
  int local = 0;
  EXPECT_EQ(device_of(&local), nullptr);
  why.clear();
  EXPECT_EQ(driver(false, why), nullptr) << "still";
}

TEST(CudaAbsent, WhoAsksForADeviceIsToldWhyThereIsNone) {
  std::string why;
  const Result<std::unique_ptr<CudaDevice>> device = CudaDevice::open(0, {}, why);
  if (device.ok()) GTEST_SKIP() << "there is a device here";
  EXPECT_FALSE(why.empty());
}

}  // namespace
}  // namespace millrace::staging::cuda
