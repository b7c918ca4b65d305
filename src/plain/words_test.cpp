// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "plain/words.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/settings.hpp"

namespace millrace::plain {
namespace {

TEST(Words, PatternsMeanWhatThoseOfOtherSettingsMean) {
  const char* const lists[] = {"*.out", "/scratch/*", "*.log: /tmp/a* :x?z", "", "a:b:c", " "};
  const char* const paths[] = {"/scratch/run/a.out", "/tmp/abc", "/home/xyz", "/data/a", "/data/c",
                               "/scratch",           "/"};
  for (const char* list : lists) {
    Settings settings;
    std::string message;
    ASSERT_TRUE(set(settings, "paths", list, message).ok());
    for (const char* path : paths) {
      const bool expected = !settings.paths.empty() && path_selected(settings, path);
      EXPECT_EQ(Patterns(list).match(path), expected) << list << " " << path;
    }
  }
}

}  // namespace
}  // namespace millrace::plain
