// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/core/watch.hpp"

#include <gtest/gtest.h>

#include <map>

#include "agent/core/testing/core_rig.hpp"
#include "agent/core/testing/told.hpp"

namespace millrace::agent {
namespace {

using Watch = CoreTest;

TEST_F(Watch, a_close_that_takes_long_tells_how_far_it_is) {
  io::MemoryOptions slow;
  slow.max_delay_polls = 400;
  start(slow);
  const FileSlot slot = rig->open(0, file, tiny(Strategy::sort, true));
  rig->fill(0, slot, 0, 100 * KiB, 1);
  rig->core.close(0, slot, 7, counters(1));
  for (int i = 0; i < 1000 && !rig->answered(0, 7); ++i) {
    EXPECT_LE(rig->core.next_deadline_ns(), rig->now_ns + 2000 * ms) << "it would not be woken for a line";
    rig->step(100 * ms);
  }
  rig->step(ms);
  const std::vector<std::string>& lines = rig->reports;
  ASSERT_GE(lines.size(), 3u);
  const std::string& first = lines.front();
  EXPECT_EQ(word_at(first, "/kind"), "progress");
  EXPECT_EQ(word_at(first, "/path"), "/data/file");
  EXPECT_GE(number_at(first, "/elapsed_ns"), 2000 * ms);
  EXPECT_LT(number_at(first, "/elapsed_ns"), 2600 * ms);
  EXPECT_GE(number_at(first, "/total_bytes"), 100 * KiB);
  EXPECT_LE(number_at(first, "/done_bytes"), number_at(first, "/total_bytes"));
  for (std::size_t i = 1; i + 2 < lines.size(); ++i) {
    EXPECT_FALSE(number_at(lines[i], "/ended"));
    EXPECT_GE(number_at(lines[i], "/elapsed_ns"), number_at(lines[i - 1], "/elapsed_ns") + 500 * ms);
  }
  const std::string& last = lines[lines.size() - 2];
  EXPECT_TRUE(number_at(last, "/ended"));
  EXPECT_EQ(number_at(last, "/done_bytes"), number_at(last, "/total_bytes"));
  EXPECT_EQ(word_at(lines.back(), "/kind"), "agent_file");
}

TEST_F(Watch, a_quick_close_has_no_progress_lines) {
  start();
  const FileSlot slot = rig->open(0, file, tiny(Strategy::sort, true));
  rig->fill(0, slot, 0, 100 * KiB, 1);
  rig->core.close(0, slot, 7, counters(1));
  settle();
  EXPECT_EQ(rig->reports.size(), 1u);
}

TEST_F(Watch, spans_tell_of_every_stage_and_their_bytes) {
  start();
  rig->core.follow(true, true);
  FileSettings settings = tiny(Strategy::sort, true);
  settings.durability = Durability::disk;
  const FileSlot slot = rig->open(0, file, settings);
  rig->open(1, file, settings);  // the sync waits for this rank
  for (int i = 0; i < 20; ++i) {
    rig->fill(0, slot, static_cast<std::uint64_t>(i) * 4 * KiB, 4 * KiB, 1);
    rig->step(ms / 2);
  }
  rig->core.close(0, slot, 7, counters(1));
  steps_until(0, 7);
  rig->core.close(1, slot, 8, counters(1));
  settle();
  std::map<Phase, std::uint64_t> bytes;
  std::map<Phase, std::uint64_t> end_ns;
  for (const Span& span : rig->core.take_spans()) {
    EXPECT_EQ(span.path, "/data/file");
    EXPECT_LE(span.begin_ns, span.end_ns);
    EXPECT_GE(span.begin_ns, end_ns[span.phase]) << "spans of a phase overlap";
    end_ns[span.phase] = span.end_ns;
    bytes[span.phase] += span.bytes;
  }
  EXPECT_EQ(bytes.size(), phase_count - 1) << "nothing was read";
  EXPECT_EQ(bytes[Phase::sort], 80 * KiB);
  EXPECT_EQ(bytes[Phase::write], 80 * KiB);
  EXPECT_TRUE(rig->core.take_spans().empty());
}

}  // namespace
}  // namespace millrace::agent
