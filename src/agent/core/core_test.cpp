// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/core/core.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>

#include "agent/core/testing/core_rig.hpp"
#include "agent/core/testing/told.hpp"
#include "sink/sink.hpp"
#include "transport/layout.hpp"

namespace millrace::agent {
namespace {

TEST_F(CoreTest, close_of_the_last_rank_writes_everything_and_reports_once) {
  start();
  const FileSlot slot = rig->open(0, file, tiny(Strategy::automatic, true));
  ASSERT_EQ(rig->open(1, file, tiny(Strategy::automatic, true)), slot);
  rig->fill(0, slot, 0, 5000, 1);
  rig->fill(1, slot, 5000, 5000, 2);
  rig->core.close(0, slot, 7, counters(3));
  rig->core.close(1, slot, 8, counters(4));
  EXPECT_LT(steps_until(0, 7), 20);
  EXPECT_LT(steps_until(1, 8), 20);
  EXPECT_TRUE(rig->reply(0, 7).ok());
  EXPECT_TRUE(rig->same(0));
  settle();
  ASSERT_EQ(rig->reports.size(), 1u);
  const std::string& report = rig->reports[0];
  EXPECT_EQ(number_at(report, "/schema"), 1u);
  EXPECT_EQ(word_at(report, "/path"), "/data/file");
  EXPECT_EQ(word_at(report, "/strategy"), "auto");
  EXPECT_EQ(number_at(report, "/ranks/calls"), 7u);
  EXPECT_EQ(number_at(report, "/agent/records_in"), 4u);
  EXPECT_EQ(number_at(report, "/agent/bytes_in"), 10000u);
  EXPECT_EQ(number_at(report, "/agent/bytes_out"), 10000u);
  EXPECT_TRUE(rig->core.idle());
  EXPECT_EQ(rig->storage.handles(), 0u);
}

TEST_F(CoreTest, auto_sends_a_complete_chunk_at_once_and_as_one_write) {
  start({.keep_history = true});
  FileSettings settings = tiny(Strategy::automatic, true);
  const FileSlot slot = rig->open(0, file, settings);  // a chunk is 32 blocks of 4 KiB
  rig->fill(0, slot, 0, 128 * KiB, 5);
  EXPECT_TRUE(rig->core.dirty(slot));
  for (int i = 0; i < 100 && rig->core.dirty(slot); ++i) rig->step();
  EXPECT_FALSE(rig->core.dirty(slot));
  EXPECT_TRUE(rig->same(0));
  EXPECT_EQ(rig->storage.submitted(io::Op::write), 1u);
}

TEST_F(CoreTest, sort_holds_back_until_memory_is_short) {
  start();
  const FileSlot slot = rig->open(0, file, tiny(Strategy::sort, true));
  rig->fill(0, slot, 0, 256 * KiB, 5);
  for (int i = 0; i < 100; ++i) rig->step();
  EXPECT_EQ(rig->storage.submitted(io::Op::write), 0u);
  rig->fill(0, slot, 256 * KiB, 2 * MiB, 6);
  EXPECT_GT(rig->storage.submitted(io::Op::write), 0u);
}

TEST_F(CoreTest, flush_writes_what_it_names_and_nothing_else) {
  start();
  const FileSlot slot = rig->open(0, file, tiny(Strategy::automatic, true));
  rig->open(1, file, tiny(Strategy::automatic, true));
  rig->fill(1, slot, 100, 50, 1);
  rig->fill(0, slot, 512 * KiB, 50, 2);
  rig->core.ask(transport::Kind::flush, 0, slot, 1, {0, 120});
  EXPECT_LT(steps_until(0, 1), 20);  // does not wait for the other rank
  EXPECT_TRUE(rig->same(0, {0, 150}));
  EXPECT_EQ(rig->storage.contents(0).size(), 150u);
  EXPECT_TRUE(rig->core.dirty(slot));
}

// The agent's page has room for max_files files.
TEST_F(CoreTest, a_file_more_than_there_is_room_for_is_refused_and_the_others_go_on) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < 2 * transport::max_files + 1000)
    GTEST_SKIP() << "the limit of open files is " << limit.rlim_cur;
  start();
  const FileSlot first = rig->open(0, file, tiny(Strategy::automatic, true));
  std::vector<Fd> files;
  transport::Register registration{};
  registration.group = 1;
  registration.settings = tiny(Strategy::automatic, true);
  while (files.size() + 1 < transport::max_files) {
    files.push_back(rig->storage.create());
    ASSERT_TRUE(rig->core.open(0, Fd(::dup(files.back().get())), registration).ok());
  }
  const Fd another = rig->storage.create();
  EXPECT_FALSE(rig->core.open(0, Fd(::dup(another.get())), registration).ok());
  EXPECT_EQ(*rig->core.open(0, Fd(::dup(file.get())), registration), first)
      << "one that is open may be joined";
  rig->fill(0, first, 0, 1000, 1);
  rig->core.ask(transport::Kind::flush, 0, first, 1, everything);
  EXPECT_LT(steps_until(0, 1), 20);
  EXPECT_TRUE(rig->same(0));
  rig->core.abandon(0);
  rig->step(ms);
  rig->step(ms);
  EXPECT_TRUE(rig->core.open(0, Fd(::dup(another.get())), registration).ok()) << "there is room again";
}

TEST_F(CoreTest, flush_of_a_clean_file_is_answered_at_the_next_advance) {
  start();
  const FileSlot slot = rig->open(0, file, tiny(Strategy::automatic, true));
  rig->core.ask(transport::Kind::flush, 0, slot, 1, everything);
  rig->step();
  EXPECT_TRUE(rig->answered(0, 1));
}

TEST_F(CoreTest, sync_of_all_ranks_needs_one_datasync) {
  start();
  FileSlot slot = 0;
  for (SenderId rank = 0; rank < 4; ++rank) slot = rig->open(rank, file, tiny(Strategy::automatic, true));
  for (SenderId rank = 0; rank < 4; ++rank) rig->fill(rank, slot, rank * 1000, 1000, 1);
  for (SenderId rank = 0; rank < 4; ++rank) rig->core.ask(transport::Kind::sync, rank, slot, 5);
  for (SenderId rank = 0; rank < 4; ++rank) EXPECT_LT(steps_until(rank, 5), 30);
  EXPECT_EQ(rig->storage.submitted(io::Op::datasync), 1u);
  EXPECT_EQ(rig->storage.stable(0).size(), 4000u);
}

TEST_F(CoreTest, ranks_of_another_group_are_not_waited_for) {
  start({.max_delay_polls = 0});
  const FileSlot slot = rig->open(0, file, tiny(Strategy::automatic, true), 1);
  rig->open(1, file, tiny(Strategy::automatic, true), 2);
  rig->fill(0, slot, 0, 100, 1);
  rig->core.close(0, slot, 1, {});
  EXPECT_LT(steps_until(0, 1), 9);
  EXPECT_FALSE(rig->core.idle());
}

TEST_F(CoreTest, durability_disk_makes_close_stable_and_server_does_not) {
  for (const Durability durability : {Durability::server, Durability::disk}) {
    start();
    FileSettings settings = tiny(Strategy::automatic, true);
    settings.durability = durability;
    const FileSlot slot = rig->open(0, file, settings);
    rig->fill(0, slot, 0, 100, 1);
    rig->core.close(0, slot, 1, {});
    EXPECT_LT(steps_until(0, 1), 20);
    EXPECT_EQ(rig->storage.stable(0).size(), durability == Durability::disk ? 100u : 0u);
  }
}

TEST_F(CoreTest, abandoned_ranks_records_are_written_and_its_peers_are_told_once) {
  start();
  const FileSlot slot = rig->open(0, file, tiny(Strategy::automatic, true), 1);
  rig->open(1, file, tiny(Strategy::automatic, true), 1);
  rig->open(2, file, tiny(Strategy::automatic, true), 2);
  rig->fill(1, slot, 0, 100, 1);
  rig->core.abandon(1);
  rig->core.ask(transport::Kind::sync, 0, slot, 1);
  rig->core.ask(transport::Kind::sync, 2, slot, 1);
  EXPECT_LT(steps_until(0, 1), 20);
  EXPECT_LT(steps_until(2, 1), 20);
  EXPECT_EQ(rig->reply(0, 1).code(), Code::lost_peer);
  EXPECT_TRUE(rig->reply(2, 1).ok());
  EXPECT_TRUE(rig->same(0));
  rig->core.close(0, slot, 2, {});
  rig->core.close(2, slot, 2, {});
  EXPECT_LT(steps_until(0, 2), 20);
  EXPECT_TRUE(rig->reply(0, 2).ok());
}

TEST_F(CoreTest, a_file_whose_ranks_have_all_died_is_written_and_closed) {
  start();
  FileSettings settings = tiny(Strategy::automatic, true);
  settings.durability = Durability::disk;
  const FileSlot slot = rig->open(0, file, settings);
  rig->open(1, file, settings);
  rig->fill(0, slot, 0, 100, 1);
  rig->core.close(0, slot, 9, {});
  rig->core.abandon(0);
  rig->core.abandon(1);
  settle();
  EXPECT_TRUE(rig->core.idle());
  EXPECT_FALSE(rig->answered(0, 9));
  EXPECT_TRUE(rig->same(0));
  EXPECT_EQ(rig->storage.stable(0).size(), 100u);
  EXPECT_EQ(rig->storage.handles(), 0u);
}

class CoreFaults : public CoreTest, public testing::WithParamInterface<std::tuple<Strategy, int>> {};

TEST_P(CoreFaults, a_failed_write_reaches_every_rank_and_nothing_hangs) {
  const auto [strategy, error] = GetParam();
  // With strategy journal all writes fail: an error of the ledger alone is no error of the file.
  const std::uint64_t every = strategy == Strategy::journal ? 1 : 0;
  start({.faults = {{.op = io::Op::write, .first = 2, .every = every, .error = error}}});
  FileSlot slot = 0;
  for (SenderId rank = 0; rank < 3; ++rank) slot = rig->open(rank, file, tiny(strategy, true));
  for (std::uint64_t i = 0; i < 400; ++i) {
    rig->fill(static_cast<SenderId>(i % 3), slot, i * 9000, 6000, static_cast<int>(i));
  }
  for (SenderId rank = 0; rank < 3; ++rank) rig->core.ask(transport::Kind::sync, rank, slot, 1);
  for (SenderId rank = 0; rank < 3; ++rank) {
    EXPECT_LT(steps_until(rank, 1), 5000);
    EXPECT_EQ(rig->reply(rank, 1), Status::from_errno(error));
  }
  EXPECT_EQ(rig->core.error(slot), Status::from_errno(error));
  for (SenderId rank = 0; rank < 3; ++rank) rig->core.close(rank, slot, 2, {});
  for (SenderId rank = 0; rank < 3; ++rank) {
    EXPECT_LT(steps_until(rank, 2), 5000);
    EXPECT_EQ(rig->reply(rank, 2), Status::from_errno(error));
  }
  settle();
  EXPECT_TRUE(rig->core.idle());
  EXPECT_EQ(rig->storage.handles(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Strategies, CoreFaults,
                         testing::Combine(testing::Values(Strategy::automatic, Strategy::immediate,
                                                          Strategy::sort, Strategy::journal),
                                          testing::Values(EIO, ENOSPC, EDQUOT, EROFS)));

TEST_F(CoreTest, after_an_io_error_the_rest_of_the_file_is_written) {
  start({.short_writes = false, .faults = {{.op = io::Op::write, .first = 1, .every = 0, .error = EIO}}});
  const FileSlot slot = rig->open(0, file, tiny(Strategy::automatic, true));
  rig->fill(0, slot, 0, 100, 1);
  rig->fill(0, slot, 5 * MiB, 100, 2);  // another request than the first chunk's
  rig->core.close(0, slot, 1, {});
  EXPECT_LT(steps_until(0, 1), 50);
  EXPECT_EQ(rig->reply(0, 1).code(), Code::io);
  EXPECT_TRUE(rig->same(0, {100, UINT64_MAX}));
}

TEST_F(CoreTest, notes_of_direct_writes_begin_writeback_in_large_steps) {
  start({.keep_history = true});
  const FileSlot slot = rig->open(0, file, tiny(Strategy::automatic, true));
  for (std::uint64_t i = 0; i < 64; ++i) rig->core.note(0, slot, {i * MiB, (i + 1) * MiB});
  for (int i = 0; i < 10; ++i) rig->step();
  EXPECT_GT(rig->storage.submitted(io::Op::writeback), 0u);
  EXPECT_LE(rig->storage.submitted(io::Op::writeback), 64 * MiB / sink::SinkOptions{}.writeback_step_bytes);
  EXPECT_EQ(rig->storage.submitted(io::Op::write), 0u);
}

TEST_F(CoreTest, requests_on_an_unknown_file_are_answered) {
  start();
  rig->core.ask(transport::Kind::flush, 3, 17, 1, everything);
  rig->step();
  ASSERT_TRUE(rig->answered(3, 1));
  EXPECT_EQ(rig->reply(3, 1).code(), Code::invalid);
}

TEST_F(CoreTest, bad_registrations_are_refused) {
  start();
  transport::Register registration{};
  registration.settings.record_max_bytes = 5000;
  EXPECT_EQ(rig->core.open(0, Fd(::dup(file.get())), registration).status().code(), Code::invalid);
  registration.settings = {};
  EXPECT_EQ(rig->core.open(0, Fd(), registration).status().code(), Code::invalid);
  EXPECT_TRUE(rig->core.idle());
}

TEST_F(CoreTest, several_files_share_one_bound_of_memory) {
  start();
  const Fd second = rig->storage.create();
  const FileSlot a = rig->open(0, file, tiny(Strategy::automatic, true));
  const FileSlot b = rig->open(0, second, tiny(Strategy::sort, false), 2);
  ASSERT_NE(a, b);
  const std::vector<std::byte> data(1000, std::byte{7});
  for (std::uint64_t i = 0; i < 4000; ++i) {
    ASSERT_TRUE(rig->wait_ready());
    rig->core.write(0, i % 2 == 0 ? a : b, i * 5000, data);
  }
  rig->core.close(0, a, 1, {});
  rig->core.close(0, b, 2, {});
  EXPECT_LT(steps_until(0, 1), 5000);
  EXPECT_LT(steps_until(0, 2), 5000);
  settle();
  ASSERT_EQ(rig->reports.size(), 2u);
  for (const std::string& report : rig->reports) {
    EXPECT_LE(number_at(report, "/memory/peak_buffer_bytes"), 1 * MiB);
    EXPECT_GT(number_at(report, "/agent/evictions"), 0u);
  }
}

TEST_F(CoreTest, an_error_that_close_tells_is_the_answer_to_the_last_close) {
  for (const Strategy strategy :
       {Strategy::automatic, Strategy::immediate, Strategy::sort, Strategy::journal}) {
    start({.faults = {{io::Op::close, 1, 0, ENOSPC}}});
    const FileSlot slot = rig->open(0, file, tiny(strategy, true));
    rig->fill(0, slot, 0, 100, 1);
    rig->core.close(0, slot, 1, {});
    ASSERT_LT(steps_until(0, 1), 4000);
    EXPECT_EQ(rig->reply(0, 1).code(), Code::no_space);
    settle();
    EXPECT_EQ(rig->storage.submitted(io::Op::close), 1u) << "there is nothing more to tell";
  }
}

TEST_F(CoreTest, an_error_that_the_close_of_a_ranks_descriptor_tells_is_the_files) {
  start({.faults = {{io::Op::close, 1, 0, EIO}}});
  const FileSlot slot = rig->open(0, file, tiny(Strategy::automatic, true));
  rig->open(1, file, tiny(Strategy::automatic, true));
  settle();
  EXPECT_EQ(rig->core.error(slot).code(), Code::io);
  EXPECT_EQ(rig->storage.handles(), 1u);
}

TEST_F(CoreTest, an_answer_waits_for_the_close_of_a_ranks_descriptor) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    start({.seed = seed, .max_delay_polls = 300, .faults = {{io::Op::close, 1, 0, EIO}}});
    const FileSlot slot = rig->open(0, file, tiny(Strategy::automatic, seed % 2 == 0));
    rig->open(1, file, tiny(Strategy::automatic, seed % 2 == 0));
    for (const SenderId rank : {0, 1}) rig->core.close(rank, slot, 1, {});
    for (const SenderId rank : {0, 1}) {
      ASSERT_LT(steps_until(rank, 1), 4000) << "seed " << seed;
      EXPECT_EQ(rig->reply(rank, 1).code(), Code::io) << "seed " << seed;
    }
    settle();
  }
}

TEST_F(CoreTest, the_close_of_a_ranks_descriptor_is_a_wait_for_the_file_system) {
  start({.seed = 3, .max_delay_polls = 300});
  const FileSlot slot = rig->open(0, file, tiny(Strategy::automatic, true));
  rig->open(1, file, tiny(Strategy::automatic, true));
  ASSERT_GT(rig->storage.in_flight(), 0u);
  std::uint64_t longest_ns = 0;
  for (int i = 0; i < 400 && rig->storage.in_flight() > 0; ++i) {
    rig->step(ms);
    longest_ns = std::max(longest_ns, rig->core.look(slot).silent_ns);
  }
  EXPECT_GT(longest_ns, 20 * ms);
  EXPECT_TRUE(rig->core.look(slot).silent_journals.empty());
  rig->step(ms);
  EXPECT_EQ(rig->core.look(slot).silent_ns, 0u);
}

TEST_F(CoreTest, a_file_that_is_refused_for_want_of_memory_takes_none_of_the_others) {
  start();
  transport::Register registration{};
  registration.settings = tiny(Strategy::automatic, true);
  Route route{MiB, {}};
  for (int lane = 0; lane < 4; ++lane) route.lanes.push_back({nullptr, 1});
  const auto slot = rig->core.open(0, Fd(::dup(file.get())), registration, std::move(route));
  ASSERT_TRUE(slot);
  ASSERT_TRUE(rig->core.ready());
  registration.settings.record_max_bytes = 128 * KiB;
  Route other;
  other.lanes.push_back({nullptr, 1});
  const auto refused = rig->core.open(0, rig->storage.create(), registration, std::move(other));
  ASSERT_EQ(refused.status().code(), Code::unsupported);
  EXPECT_TRUE(rig->core.ready()) << "nobody may write any more";
  const auto larger = rig->core.open(1, Fd(::dup(file.get())), registration);
  ASSERT_EQ(larger.status().code(), Code::unsupported);
  EXPECT_TRUE(rig->core.ready());
}

TEST_F(CoreTest, destroying_it_in_the_middle_waits_for_what_is_in_flight) {
  start({.max_delay_polls = 20});
  for (const Strategy strategy :
       {Strategy::automatic, Strategy::immediate, Strategy::sort, Strategy::journal}) {
    start({.max_delay_polls = 20});
    const FileSlot slot = rig->open(0, file, tiny(strategy, true));
    rig->fill(0, slot, 0, 3 * MiB, 1);
    rig->core.ask(transport::Kind::flush, 0, slot, 1, {1 * MiB, 2 * MiB});
    rig->core.ask(transport::Kind::flush, 0, slot, 2, everything);
    for (int i = 0; i < 1000 && rig->storage.in_flight() == 0; ++i) rig->step();
    ASSERT_GT(rig->storage.in_flight(), 0u);
    rig.reset();  // Rig::AfterCore looks at what is left
  }
}

TEST_F(CoreTest, destroying_it_does_not_wait_for_an_answer_that_nobody_takes) {
  start({.max_delay_polls = 50});
  const FileSlot slot = rig->open(0, file, tiny(Strategy::automatic, true));
  rig->fill(0, slot, 0, 100, 1);
  rig->core.ask(transport::Kind::sync, 0, slot, 1);
  for (int i = 0; i < 1000 && rig->storage.submitted(io::Op::datasync) == 0; ++i) rig->step();
  ASSERT_EQ(rig->storage.submitted(io::Op::datasync), 1u);
  ASSERT_FALSE(rig->answered(0, 1));
  rig.reset();
}

}  // namespace
}  // namespace millrace::agent
