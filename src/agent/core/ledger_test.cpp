// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/core/ledger.hpp"

#include <csignal>
#include <fstream>
#include <optional>

#include "agent/core/testing/ledgers.hpp"
#include "base/testing/limit.hpp"
#include "journal/folder.hpp"

namespace millrace::agent {
namespace {

TEST_F(Ledgers, a_close_with_durability_node_is_answered_when_the_ledger_is_stable_and_the_rest_follows) {
  start();
  const FileSlot slot = rig->open(0, file, asked(Strategy::sort, Durability::node));
  ASSERT_EQ(rig->open(1, file, asked(Strategy::sort, Durability::node)), slot);  // the lane waits for it
  rig->fill(0, slot, 5000, 100, 1);
  rig->fill(0, slot, 0, 200, 2);
  rig->fill(0, slot, 50, 10, 3);
  create();
  EXPECT_TRUE(rig->core.keeps(slot));
  rig->core.close(0, slot, 1, {});
  ASSERT_TRUE(rig->await(0, 1, 1));
  EXPECT_TRUE(rig->reply(0, 1).ok());
  EXPECT_EQ(offsets_in_ledger(), (std::vector<std::uint64_t>{5000, 0, 50}));
  const Fd source = journal::file_of(rig->storage.stable(1));
  const journal::Summary summary = journal::scan(source);
  EXPECT_EQ(summary.verdict, journal::Verdict::clean);
  EXPECT_EQ(summary.payload_bytes, 310U);
  rig->core.close(1, slot, 1, {});
  settle();
  EXPECT_TRUE(rig->core.idle());
  EXPECT_TRUE(rig->same(0));
  EXPECT_EQ(rig->storage.stable(0).size(), 5100U);
  EXPECT_EQ(names(), 0U);
  EXPECT_EQ(rig->storage.handles(), 0U);
  EXPECT_EQ(rig->storage.misuse(), io::Misuse{});
}

TEST_F(Ledgers, one_that_is_slow_is_a_wait_for_the_file_system_of_the_journals) {
  start({.seed = 3, .max_delay_polls = 300});
  const FileSlot slot = rig->open(0, file, asked(Strategy::sort, Durability::node));
  rig->fill(0, slot, 5000, 100, 1);
  std::uint64_t longest_ns = 0;
  for (int i = 0; i < 400; ++i) {
    rig->step(ms);
    const Core::Look look = rig->core.look(slot);
    if (look.silent_journals == folder()) longest_ns = std::max(longest_ns, look.silent_ns);
  }
  EXPECT_GT(longest_ns, 20 * ms);
  rig->core.close(0, slot, 1, {});
  ASSERT_TRUE(rig->await(0, 1));
  settle();
}

TEST_F(Ledgers, after_a_sync_nothing_is_kept_and_the_next_record_begins_a_new_one) {
  for (const Strategy strategy : {Strategy::automatic, Strategy::journal}) {
    start();
    const FileSlot slot = rig->open(0, file, asked(strategy, Durability::node));
    for (std::uint32_t request = 1; request <= 3; ++request) {
      rig->fill(0, slot, request * 1000, 1000, static_cast<int>(request));
      create();
      rig->core.ask(transport::Kind::sync, 0, slot, request);
      ASSERT_TRUE(rig->await(0, request));
      for (int i = 0; i < 20 && names() > 0; ++i) rig->step(ms);
      EXPECT_EQ(names(), 0U);
      EXPECT_FALSE(rig->core.keeps(slot));
    }
    rig->core.close(0, slot, 9, {});
    ASSERT_TRUE(rig->await(0, 9));
    settle();
    EXPECT_TRUE(rig->same(0));
  }
}

TEST_F(Ledgers, one_that_cannot_be_written_makes_durability_node_like_disk) {
  start({.faults = {{.op = io::Op::write, .first = 1, .every = 0, .error = ENOSPC}}});
  const FileSlot slot = rig->open(0, file, asked(Strategy::sort, Durability::node));
  rig->fill(0, slot, 0, 3000, 1);
  create();
  rig->core.close(0, slot, 1, {});  // the first write is the ledger's
  ASSERT_TRUE(rig->await(0, 1));
  EXPECT_TRUE(rig->reply(0, 1).ok());
  EXPECT_EQ(rig->storage.stable(0).size(), 3000U);
  settle();
  ASSERT_EQ(rig->reports.size(), 1U);
  EXPECT_NE(rig->reports[0].find("too little room"), std::string::npos) << rig->reports[0];
}

TEST_F(Ledgers, one_that_fails_does_not_wait_for_what_agents_upstream_pass_on) {
  start({.faults = {{.op = io::Op::write, .first = 1, .every = 0, .error = EIO}}});
  auto wire = std::make_shared<Wire>();
  const FileSlot slot = rig->open_fed(file, asked(Strategy::journal, Durability::disk), 1, 1,
                                      std::make_unique<MemoryCarrier>(wire));
  ASSERT_TRUE(rig->core.join(100, slot, 0, 1).ok());
  const std::vector<std::byte> data(100);
  rig->core.write(0, slot, 0, data);
  const auto asks = [](const Wire::Frame& frame) { return frame.kind == transport::Kind::sync; };
  for (int i = 0; i < 5000 && std::ranges::none_of(wire->frames, asks); ++i) rig->step(ms);
  ASSERT_TRUE(std::ranges::any_of(wire->frames, asks)) << "what the ledger has lost is to be settled";
  EXPECT_FALSE(rig->core.ready()) << "a rank has to wait";
  ASSERT_TRUE(rig->core.ready(slot, 0));
  rig->core.write(100, slot, 5000, data);
  wire->answers.push_back({std::ranges::find_if(wire->frames, asks)->request, {}});
  for (int i = 0; i < 100 && !rig->core.ready(); ++i) rig->step(ms);
  EXPECT_TRUE(rig->core.ready());
}

TEST_F(Ledgers, one_that_fails_does_not_keep_what_agents_upstream_pass_on_out_of_memory_that_is_free) {
  start({.faults = {{.op = io::Op::write, .first = 1, .every = 0, .error = EIO}}});
  auto wire = std::make_shared<Wire>();
  const FileSlot slot = rig->open_fed(file, asked(Strategy::journal, Durability::disk), 1, 1,
                                      std::make_unique<MemoryCarrier>(wire));
  ASSERT_TRUE(rig->core.join(100, slot, 0, 1).ok());
  const std::vector<std::byte> data(4 * KiB);
  rig->core.write(0, slot, 0, data);
  for (int i = 0; i < 100 && rig->core.ready(); ++i) rig->step();
  ASSERT_FALSE(rig->core.ready());
  for (std::uint64_t i = 1; i < 64; ++i) {
    ASSERT_TRUE(rig->core.ready(slot, 0)) << i;
    rig->core.write(100, slot, i * data.size(), data);
  }
}

TEST_F(Ledgers, one_that_holds_nothing_does_not_tie_who_opens_the_file_next_to_a_file_that_has_failed) {
  start({.faults = {{.op = io::Op::write, .first = 1, .every = 1, .error = ENOSPC}}});
  const auto open = [&](std::uint64_t group) {
    return rig->open_fed(file, asked(Strategy::sort, Durability::node), 1, group);
  };
  const FileSlot slot = open(1);
  rig->fill(0, slot, 0, 3000, 1);
  rig->core.close(0, slot, 1, {});
  ASSERT_TRUE(rig->await(0, 1));
  EXPECT_EQ(rig->reply(0, 1).code(), Code::no_space);
  for (int i = 0; i < 100; ++i) rig->step(ms);
  ASSERT_FALSE(rig->core.idle()) << "an agent of another node may still come";
  EXPECT_EQ(names(), 0U) << "nobody was told that it is safe: it must not come back";
  const FileSlot next = open(2);
  EXPECT_NE(next, slot);
  EXPECT_TRUE(rig->core.error(next).ok());
}

TEST_F(Ledgers,
       one_whose_file_is_not_there_yet_does_not_tie_who_opens_the_file_next_to_a_file_that_has_failed) {
  start({.max_delay_polls = 1000});
  auto wire = std::make_shared<Wire>();
  const FileSlot slot = rig->open_fed(file, asked(Strategy::sort, Durability::node), 1, 1,
                                      std::make_unique<MemoryCarrier>(wire));
  rig->fill(0, slot, 0, 3000, 1);
  rig->step();
  wire->status = Code::lost_peer;
  rig->core.abandon(0);
  for (int i = 0; i < 100 && rig->core.error(slot).ok(); ++i) rig->step();
  ASSERT_EQ(rig->core.error(slot).code(), Code::lost_peer);
  for (int i = 0; i < 20; ++i) rig->step();
  ASSERT_TRUE(rig->core.keeps(slot));
  ASSERT_EQ(names(), 0U) << "so nobody waits for it";
  const FileSlot next = rig->open_fed(file, asked(Strategy::sort, Durability::node), 1, 2);
  EXPECT_NE(next, slot);
  EXPECT_TRUE(rig->core.error(next).ok());
  rig->core.abandon(0);
  for (int i = 0; i < 2000; ++i) rig->step();
  EXPECT_EQ(names(), 0U) << "nobody relies on it";
}

TEST_F(Ledgers, without_a_directory_durability_node_is_like_disk) {
  rig = std::make_unique<Rig>(io::MemoryOptions{}, "/nowhere");
  file = rig->storage.create();
  const FileSlot slot = rig->open(0, file, asked(Strategy::automatic, Durability::node));
  rig->fill(0, slot, 0, 3000, 1);
  rig->core.close(0, slot, 1, {});
  ASSERT_TRUE(rig->await(0, 1));
  EXPECT_EQ(rig->storage.stable(0).size(), 3000U);
  settle();
  EXPECT_NE(rig->reports.at(0).find("journal_problem"), std::string::npos);
}

TEST_F(Ledgers, where_another_open_wants_the_disk_every_close_waits_for_it) {
  start();
  const FileSlot slot = rig->open(0, file, asked(Strategy::sort, Durability::node), 1);
  rig->open(1, file, asked(Strategy::sort, Durability::disk), 2);
  rig->fill(0, slot, 0, 3000, 1);
  rig->core.close(0, slot, 1, {});
  ASSERT_TRUE(rig->await(0, 1, 1));
  EXPECT_EQ(rig->storage.stable(0).size(), 3000U);
  rig->core.close(1, slot, 1, {});
  ASSERT_TRUE(rig->await(1, 1));
  settle();
}

TEST_F(Ledgers, a_file_that_is_opened_again_while_it_drains_is_the_same) {
  start();
  const FileSlot slot = rig->open(0, file, asked(Strategy::sort, Durability::node), 1);
  rig->fill(0, slot, 0, 3000, 1);
  rig->core.close(0, slot, 1, {});
  rig->core.abandon(0);  // the rank does not wait for its answer
  EXPECT_EQ(rig->open(0, file, asked(Strategy::sort, Durability::server), 2), slot);
  rig->fill(0, slot, 1000, 3000, 2);
  rig->core.close(0, slot, 2, {});
  ASSERT_TRUE(rig->await(0, 2));
  settle();
  EXPECT_TRUE(rig->core.idle());
  EXPECT_TRUE(rig->same(0));
}

TEST_F(Ledgers, a_target_that_fails_after_the_close_leaves_the_ledger_and_says_so) {
  start();
  const FileSlot slot = rig->open(0, file, asked(Strategy::sort, Durability::node));
  ASSERT_EQ(rig->open(1, file, asked(Strategy::sort, Durability::node)), slot);  // the lane waits for it
  rig->fill(0, slot, 0, 3000, 1);
  create();
  rig->core.close(0, slot, 1, {});
  ASSERT_TRUE(rig->await(0, 1, 1));
  rig->storage.set_faults({{.op = io::Op::write, .first = 1, .every = 1, .error = EIO}});
  rig->core.close(1, slot, 1, {});
  settle();
  EXPECT_TRUE(rig->core.idle()) << "it leaves all the same";
  EXPECT_EQ(names(), 1U);
  const auto messages = std::exchange(rig->messages, {});
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_NE(messages[0].find("millrace recover"), std::string::npos) << messages[0];
  std::filesystem::remove_all(io::owned_folder(folder()));
}

TEST_F(Ledgers, with_strategy_journal_a_record_is_kept_once_its_bytes_are_written) {
  start();
  const FileSlot slot = rig->open(0, file, asked(Strategy::journal, Durability::server));
  EXPECT_EQ(rig->core.ledger_mark(slot), 0U);
  rig->fill(0, slot, 0, 3000, 1);
  const std::uint64_t mark = rig->core.ledger_mark(slot);
  EXPECT_GT(mark, 0U);
  EXPECT_FALSE(rig->core.kept(slot, mark));
  for (int i = 0; i < 50 && !rig->core.kept(slot, mark); ++i) rig->step();
  EXPECT_TRUE(rig->core.kept(slot, mark));
  EXPECT_EQ(offsets_in_ledger(), std::vector<std::uint64_t>{0});
  rig->core.close(0, slot, 1, {});
  ASSERT_TRUE(rig->await(0, 1));
  settle();
  EXPECT_TRUE(rig->core.kept(slot, mark + 100)) << "nobody has it open";
}

TEST_F(Ledgers, records_of_other_nodes_are_theirs_to_keep) {
  start();
  const FileSlot slot = rig->open(0, file, asked(Strategy::journal, Durability::server));
  ASSERT_TRUE(rig->core.join(7, slot, 0, 1).ok());
  rig->fill(7, slot, 0, 1000, 1);
  EXPECT_FALSE(rig->core.keeps(slot));
  rig->core.close(7, slot, 1, {});
  rig->core.close(0, slot, 1, {});
  ASSERT_TRUE(rig->await(0, 1));
  settle();
}

TEST_F(Ledgers, ranks_wait_where_the_ledgers_disk_is_slower_than_they_are) {
  start({.max_delay_polls = 40});
  FileSettings settings = asked(Strategy::automatic, Durability::node);
  settings.sort_buffer_bytes = 64 * MiB;
  const FileSlot slot = rig->open(0, file, settings);
  bool waited = false;
  const std::vector<std::byte> data(4 * KiB, std::byte{1});
  for (std::uint64_t i = 0; i < 4096; ++i) {
    waited |= !rig->core.ready();
    rig->write(0, slot, i * data.size(), data);
  }
  EXPECT_TRUE(waited);
  rig->core.close(0, slot, 1, {});
  ASSERT_TRUE(rig->await(0, 1));
  settle();
  EXPECT_TRUE(rig->same(0));
}

// The disk of the journals refuses to remove the file: unlink(2) finds a folder.
TEST_F(Ledgers, one_that_cannot_be_removed_says_that_it_is_done) {
  for (const bool takes_words : {true, false}) {
    start();
    const FileSlot slot = rig->open(0, file, asked(Strategy::sort, Durability::node));
    rig->fill(0, slot, 0, 3000, 1);
    create();
    const std::string path = io::list_owned(folder(), journal::suffix)->at(0);
    std::filesystem::rename(path, path + "-aside");
    std::filesystem::create_directory(path);
    rig->core.close(0, slot, 1, {});
    ASSERT_TRUE(rig->await(0, 1));
    // The real file gets what the memory of the rig has.
    const auto log = rig->storage.contents(1);
    std::ofstream(path + "-aside").write(reinterpret_cast<const char*>(log.data()), sizeof(journal::Start));
    {
      ASSERT_NE(::signal(SIGXFSZ, SIG_IGN), SIG_ERR);
      std::optional<Limit> no_word;
      if (!takes_words) no_word.emplace(RLIMIT_FSIZE, 1);
      settle();
    }
    EXPECT_EQ(journal::look_at(path + "-aside")->start.sector.state == journal::LogState::done, takes_words);
    const auto messages = std::exchange(rig->messages, {});
    ASSERT_EQ(messages.size(), takes_words ? 0U : 1U);
    EXPECT_TRUE(takes_words || messages[0].starts_with(path + ": ")) << messages[0];
    EXPECT_EQ(rig->stuck_ledgers, !takes_words);
    EXPECT_EQ(io::is_locked(*io::open_owned(path + "-aside")), !takes_words) << "it counts as living";
    EXPECT_EQ(rig->core.end(), takes_words) << "the disk works again: there is a last try";
    settle();
    EXPECT_FALSE(rig->stuck_ledgers);
    rig.reset();
    std::filesystem::remove_all(io::owned_folder(folder()));
  }
}

// An early close of the descriptor could hear, and drop, an error of the target's bytes.
TEST_F(Ledgers, a_target_whose_state_nobody_tells_stays_open_and_is_asked_once) {
  start({.faults = {{.op = io::Op::look, .first = 1, .every = 1, .error = EIO}}});
  const FileSlot slot = rig->open(0, file, asked(Strategy::journal, Durability::server));
  rig->fill(0, slot, 0, 3000, 1);
  create();
  for (int i = 0; i < 50; ++i) rig->step();
  EXPECT_EQ(rig->storage.submitted(io::Op::look), 1U);
  EXPECT_EQ(rig->storage.handles(), 3U) << "of the sink, of the log and of the ledger";
  rig->core.close(0, slot, 1, {});
  ASSERT_TRUE(rig->await(0, 1));
  settle();
}

}  // namespace
}  // namespace millrace::agent
