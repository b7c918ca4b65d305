// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <gtest/gtest.h>

namespace {

struct Understood {
  Options options;
  std::string problem;
};

Understood given(const std::vector<std::string>& words) {
  Understood understood;
  understood.problem = understand(words, understood.options);
  return understood;
}

TEST(RecoverOptions, AreUnderstoodInAnyOrder) {
  const auto [options, problem] =
      given({"--force", "--timeout", "200ms", "--drain", "--dir", "/d", "--dry-run"});
  EXPECT_EQ(problem, "");
  EXPECT_TRUE(options.force && options.drain && options.dry_run && !options.list && !options.discard);
  EXPECT_EQ(options.directory, "/d");
  EXPECT_EQ(options.timeout_ms, 200U);
  EXPECT_EQ(given({"--discard", "a", "b"}).options.journals, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(given({"--list"}).options.list);
  EXPECT_TRUE(given({"--force", "--help"}).options.help);
}

TEST(RecoverOptions, WrongUseIsTold) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--discard"},
                                             {"a.journal"},
                                             {"--frobnicate"},
                                             {"--dir"},
                                             {"--timeout", "soon"},
                                             {"--discard", "--dry-run", "a"},
                                             {"--list", "--force"},
                                             {"--list", "--discard", "a"}})
    EXPECT_NE(given(words).problem, "") << words.front();
}

}  // namespace
