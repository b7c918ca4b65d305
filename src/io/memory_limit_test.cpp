// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/memory_limit.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace millrace::io {
namespace {

class MemoryLimit : public testing::Test {
 protected:
  MemoryLimit() {
    char name[] = "/tmp/millrace-limit-XXXXXX";
    root_ = ::mkdtemp(name);
  }
  ~MemoryLimit() override { std::filesystem::remove_all(root_); }
  void put(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  std::uint64_t limit() { return memory_limit_bytes(root_ + "/groups", root_); }
  std::string root_;
};

TEST_F(MemoryLimit, IsTheLeastOfAGroupAndThoseAboveIt) {
  put("groups", "0::/job/step");
  EXPECT_EQ(limit(), UINT64_MAX);
  put("job/step/memory.max", "max");
  EXPECT_EQ(limit(), UINT64_MAX);
  put("job/memory.max", "1000");
  EXPECT_EQ(limit(), 1000u);
  put("job/step/memory.max", "2000");
  EXPECT_EQ(limit(), 1000u);
  put("job/step/memory.max", "500");
  EXPECT_EQ(limit(), 500u);
}

TEST_F(MemoryLimit, IsFoundWhereAContainerSeesItsGroupAsTheRoot) {
  put("groups", "0::/");
  put("memory.max", "300");
  EXPECT_EQ(limit(), 300u);
}

TEST_F(MemoryLimit, IsReadFromVersionOneToo) {
  put("groups", "4:cpu,memory:/job\n1:pids:/other\n0::/");
  put("memory/job/memory.limit_in_bytes", "700");
  put("memory/other/memory.limit_in_bytes", "600");
  EXPECT_EQ(limit(), 700u);
  put("groups", "4:memory:/\n");
  EXPECT_EQ(limit(), UINT64_MAX);
}

TEST_F(MemoryLimit, MalformedLinesAreIgnored) {
  put("groups", "nothing\n0:\n0::\n0::relative\n");
  put("memory.max", "300");
  EXPECT_EQ(limit(), UINT64_MAX);
}

}  // namespace
}  // namespace millrace::io
