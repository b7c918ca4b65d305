// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "base/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/environment.hpp"
#include "base/setting_table.hpp"
#include "millrace/hints.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::uint64_t bytes(std::string_view text) {
  const Result<std::uint64_t> result = parse_bytes(text);
  EXPECT_TRUE(result) << text;
  return result ? *result : 0;
}

struct Attempt {
  Settings settings;
  std::string message;
  bool ok;
};

bool for_users(const SettingRule& rule) { return rule.use != SettingUse::internal; }

Attempt attempt(std::string_view name, std::string_view value) {
  Attempt a{};
  a.ok = set(a.settings, name, value, a.message).ok();
  return a;
}

TEST(ParseBytes, takes_every_usual_spelling_as_powers_of_1024) {
  EXPECT_EQ(bytes("0"), 0U);
  EXPECT_EQ(bytes("64"), 64U);
  EXPECT_EQ(bytes("64b"), 64U);
  EXPECT_EQ(bytes("32KiB"), 32 * KiB);
  EXPECT_EQ(bytes("32kb"), 32 * KiB);
  EXPECT_EQ(bytes(" 1 MiB "), MiB);
  EXPECT_EQ(bytes("2g"), 2 * GiB);
  EXPECT_EQ(bytes("1TiB"), 1024 * GiB);
  EXPECT_EQ(bytes("18446744073709551615"), UINT64_MAX);
}

TEST(ParseBytes, refuses_everything_else) {
  for (const char* bad : {"", " ", "k", "-1", "+1", "1.5m", "1kk", "0x10", "1 2", "18446744073709551616",
                          "18014398509481984k", "1e3", "1/2"}) {
    EXPECT_FALSE(parse_bytes(bad)) << bad;
  }
}

TEST(Set, knows_each_name_and_changes_its_value) {
  EXPECT_EQ(attempt("strategy", "Journal").settings.file.strategy, Strategy::journal);
  EXPECT_EQ(attempt("strategy", "auto").settings.file.strategy, Strategy::automatic);
  EXPECT_EQ(attempt("merge", "no").settings.file.merge, 0U);
  EXPECT_EQ(attempt("sort_buffer", "16MiB").settings.file.sort_buffer_bytes, 16 * MiB);
  EXPECT_EQ(attempt("durability", "disk").settings.file.durability, Durability::disk);
  EXPECT_EQ(attempt("durability", "node").settings.file.durability, Durability::node);
  EXPECT_EQ(attempt("sink", "direct").settings.file.sink, SinkMode::direct);
  EXPECT_EQ(attempt("direct_above", "1m").settings.direct_above_bytes, MiB);
  EXPECT_EQ(attempt("direct_above", "auto").settings.direct_above_bytes, 0U);
  EXPECT_EQ(attempt("timeout", "90").settings.timeout_ms, 90'000U);
  EXPECT_EQ(attempt("timeout", "1500ms").settings.timeout_ms, 1500U);
  EXPECT_EQ(attempt("write_within", "250ms").settings.write_within_ms, 250U);
  EXPECT_EQ(attempt("timeout", "2min").settings.timeout_ms, 120'000U);
  EXPECT_THAT(attempt("paths", "/tmp/*: !*.log ").settings.paths, ElementsAre("/tmp/*", "!*.log"));
  EXPECT_THAT(attempt("paths", " ").settings.paths, ElementsAre());
  EXPECT_TRUE(attempt("posix", "1").settings.posix);
  EXPECT_THAT(attempt("posix_async", "*.out:/scratch/*").settings.posix_async,
              ElementsAre("*.out", "/scratch/*"));
  EXPECT_THAT(attempt("posix_stage", "deck.in: tables/*").settings.posix_stage,
              ElementsAre("deck.in", "tables/*"));
  EXPECT_EQ(attempt("stats", "/tmp/s.jsonl").settings.stats_path, "/tmp/s.jsonl");
  EXPECT_EQ(attempt("trace", "t").settings.trace_directory, "t");
  EXPECT_EQ(attempt("job", "4711.0").settings.job, "4711.0");
  EXPECT_EQ(attempt("agent", "/opt/millraced").settings.agent_program, "/opt/millraced");
  EXPECT_EQ(attempt("journal_directory", "/local").settings.journal_directory, "/local");
  EXPECT_EQ(attempt("topology", "Ring").settings.topology, Topology::ring);
  EXPECT_EQ(attempt("topology", "auto").settings.topology, Topology::automatic);
  EXPECT_EQ(attempt("file_servers", "4").settings.file_servers, 4U);
  EXPECT_EQ(attempt("file_servers", "auto").settings.file_servers, std::nullopt);
  EXPECT_FALSE(joins_nodes(attempt("file_servers", "0").settings));
  EXPECT_TRUE(joins_nodes({}) && joins_nodes(attempt("file_servers", "1").settings));
  EXPECT_THAT(attempt("interfaces", "ib0, eth0").settings.interfaces, ElementsAre("ib0", "eth0"));
  EXPECT_EQ(attempt("stage", "Whole").settings.stage, Stage::whole);
  EXPECT_EQ(attempt("stage", "auto").settings.stage, Stage::automatic);
  EXPECT_EQ(attempt("target", "first").settings.target, Target::first);
  EXPECT_LE(std::ranges::count_if(setting_rules, &for_users), 20) << "a guide has room for them";
}

TEST(SetHint, knows_the_hints_of_the_installed_header_and_no_other_setting) {
  Settings settings;
  std::string message;
  for (const std::string_view hint :
       {MILLRACE_HINT_STRATEGY, MILLRACE_HINT_MERGE, MILLRACE_HINT_SORT_BUFFER, MILLRACE_HINT_DURABILITY,
        MILLRACE_HINT_SINK, MILLRACE_HINT_FILE_SERVERS, MILLRACE_HINT_STAGE, MILLRACE_HINT_TARGET}) {
    ASSERT_TRUE(hint.starts_with("millrace_")) << hint;
    EXPECT_FALSE(set_hint(settings, hint.substr(9), "\n", message).ok());
    EXPECT_THAT(message, HasSubstr(" is not possible: use ")) << hint;
  }
  for (const char* const other : {"timeout", "topology", "agent", "nonsense"}) {
    EXPECT_FALSE(set_hint(settings, other, "", message).ok());
    EXPECT_THAT(message, HasSubstr("; there are: strategy merge sort_buffer durability sink file_servers"));
  }
  EXPECT_TRUE(set_hint(settings, "sort_buffer", "2MiB", message).ok());
  EXPECT_EQ(settings.file.sort_buffer_bytes, 2 * MiB);
}

TEST(Names, are_the_words_that_set_takes) {
  for (const Strategy one : {Strategy::automatic, Strategy::immediate, Strategy::sort, Strategy::journal})
    EXPECT_EQ(attempt("strategy", name_of(one)).settings.file.strategy, one);
  for (const Durability one : {Durability::server, Durability::disk, Durability::node})
    EXPECT_EQ(attempt("durability", name_of(one)).settings.file.durability, one);
  for (const Topology one : {Topology::automatic, Topology::ring, Topology::tree, Topology::direct})
    EXPECT_EQ(attempt("topology", name_of(one)).settings.topology, one);
  EXPECT_EQ(name_of(Strategy::journal), "journal");
  EXPECT_EQ(name_of(static_cast<Strategy>(77)), "unknown");
}

TEST(Set, takes_auto_wherever_the_table_says_so) {
  for (const SettingRule& rule : setting_rules) {
    if (rule.automatic) {
      EXPECT_TRUE(attempt(rule.name, " Auto ").ok) << rule.name;
    }
    const bool word = std::ranges::find(rule.words, "auto") != rule.words.end();
    const bool number = rule.kind == SettingKind::bytes || rule.kind == SettingKind::count;
    if (number && !rule.automatic && !word) {
      EXPECT_FALSE(attempt(rule.name, "auto").ok) << rule.name;
    }
  }
}

TEST(Set, takes_both_ends_of_a_range_and_nothing_outside) {
  EXPECT_TRUE(attempt("sort_buffer", "1MiB").ok);
  EXPECT_TRUE(attempt("sort_buffer", "1TiB").ok);
  EXPECT_FALSE(attempt("sort_buffer", "1048575").ok);
  EXPECT_FALSE(attempt("sort_buffer", "1025GiB").ok);
  EXPECT_FALSE(attempt("direct_above", "0").ok);
  EXPECT_TRUE(attempt("timeout", "100ms").ok);
  EXPECT_FALSE(attempt("timeout", "99ms").ok);
  EXPECT_FALSE(attempt("timeout", "25h").ok);
  EXPECT_FALSE(attempt("merge", "2").ok);
  EXPECT_TRUE(attempt("file_servers", "64").ok);
  EXPECT_FALSE(attempt("file_servers", "65").ok);
  EXPECT_FALSE(attempt("file_servers", "4b").ok);
  EXPECT_FALSE(attempt("storage_timeout", "999ms").ok);
  EXPECT_FALSE(attempt("topology", "star").ok);
  EXPECT_FALSE(attempt("job", "two words").ok);
}

TEST(Set, says_what_is_allowed_and_leaves_the_value_alone) {
  const Attempt strategy = attempt("strategy", "fast");
  EXPECT_FALSE(strategy.ok);
  EXPECT_THAT(strategy.message, HasSubstr("strategy = 'fast'"));
  EXPECT_THAT(strategy.message, HasSubstr("use auto, immediate, sort, journal"));
  const Attempt buffer = attempt("sort_buffer", "3");
  EXPECT_THAT(buffer.message, HasSubstr("use 1MiB to 1TiB"));
  EXPECT_EQ(buffer.settings.file.sort_buffer_bytes, 256 * MiB);
  EXPECT_THAT(attempt("file_servers", "all").message, HasSubstr("auto, or a number from 0 to 64"));
  for (const char* const text : {":", "*.log:", ":*.log", "a::b", "!", "a: !"})
    EXPECT_THAT(attempt("paths", text).message, HasSubstr("none of them empty")) << text;
  EXPECT_THAT(attempt("timeout", "soon").message, HasSubstr("100ms to 86400s"));
  const Attempt unknown = attempt("stratgy", "sort");
  EXPECT_FALSE(unknown.ok);
  EXPECT_THAT(unknown.message, HasSubstr("no setting 'stratgy'; there are: strategy merge"));
  EXPECT_THAT(unknown.message, Not(HasSubstr("topology"))) << "not for users";
}

TEST(FromEnvironment, overlays_what_is_set_and_tells_what_is_not_possible) {
  const char* const environment[] = {
      "HOME=/root",           "MILLRACE_STRATEGY=sort",        "MILLRACE_SORT_BUFFER=64MiB",
      "MILLRACE_MERGE=maybe", "MILLRACE_NONSENSE=1",           "MILLRACE_JOB=a=b",
      "MILLRACEX=1",          "MILLRACE_PREFIX=/opt/millrace", nullptr};
  std::vector<std::string> messages;
  const Settings settings = from_environment(environment, messages);
  EXPECT_TRUE(settings.enabled);
  EXPECT_EQ(settings.file.strategy, Strategy::sort);
  EXPECT_EQ(settings.file.sort_buffer_bytes, 64 * MiB);
  EXPECT_EQ(settings.file.merge, 1U);
  EXPECT_EQ(settings.job, "a=b");
  EXPECT_THAT(messages,
              ElementsAre(HasSubstr("MILLRACE_MERGE is ignored: merge = 'maybe'"),
                          HasSubstr("MILLRACE_NONSENSE is ignored: there is no setting 'nonsense'")));
}

TEST(FromEnvironment, is_turned_off_by_millrace_0) {
  std::vector<std::string> messages;
  const char* const off[] = {"MILLRACE=0", nullptr};
  EXPECT_FALSE(from_environment(off, messages).enabled);
  const char* const on[] = {"MILLRACE=on", nullptr};
  EXPECT_TRUE(from_environment(on, messages).enabled);
  EXPECT_TRUE(messages.empty());
  const char* const odd[] = {"MILLRACE=perhaps", nullptr};
  EXPECT_TRUE(from_environment(odd, messages).enabled);
  EXPECT_EQ(messages.size(), 1U);
  EXPECT_TRUE(from_environment(nullptr, messages).enabled);
}

TEST(PathSelected, is_limited_by_some_patterns_and_excluded_by_others) {
  Settings settings;
  EXPECT_TRUE(path_selected(settings, "/data/out.h5"));
  settings.paths = {"/data/*"};
  EXPECT_TRUE(path_selected(settings, "/data/deep/out.h5"));
  EXPECT_FALSE(path_selected(settings, "/home/out.h5"));
  settings.paths.emplace_back("!*.log");
  EXPECT_FALSE(path_selected(settings, "/data/run.log"));
  EXPECT_TRUE(path_selected(settings, "/data/run.log.h5"));
  settings.paths = {"!*.log"};
  EXPECT_FALSE(path_selected(settings, "/data/run.log"));
  EXPECT_TRUE(path_selected(settings, "/home/out.h5"));
}

TEST(Environment, has_the_patterns_and_the_switch_that_settings_have) {
  for (const char* const list : {"*.out", "/scratch/*", "*.log: /tmp/a* :x?z", "a:b:c", " "}) {
    const Settings settings = attempt("paths", list).settings;
    for (const char* const path :
         {"/scratch/run/a.out", "/tmp/abc", "/home/xyz", "/data/a", "/data/c", "/scratch", "/", "b"}) {
      const bool expected = !settings.paths.empty() && path_selected(settings, path);
      EXPECT_EQ(any_pattern_matches(list, path), expected) << list << " " << path;
    }
  }
  EXPECT_FALSE(any_pattern_matches("", "/data/a"));
  for (const char* const word : {"0", "no", "Off", "FALSE", "1", "on", "yes", "TRUE", "perhaps", ""}) {
    ASSERT_EQ(::setenv("MILLRACE", word, 1), 0);
    std::vector<std::string> messages;
    EXPECT_EQ(turned_off(), !from_environment(environ, messages).enabled) << word;
  }
  ::unsetenv("MILLRACE");
  EXPECT_FALSE(turned_off());
}

TEST(PathSelected, holds_a_pattern_without_slash_against_the_last_component) {
  Settings settings;
  settings.paths = {"!restart.?"};
  EXPECT_FALSE(path_selected(settings, "/data/restart.1"));
  EXPECT_FALSE(path_selected(settings, "restart.2"));
  EXPECT_TRUE(path_selected(settings, "/data/restart.10"));
  EXPECT_TRUE(path_selected(settings, "/restart.1/data"));
}

}  // namespace
}  // namespace millrace
