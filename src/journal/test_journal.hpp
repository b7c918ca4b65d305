// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/posix/owned.hpp"
#include "io/posix/unnamed.hpp"
#include "io/virtual/memory_storage.hpp"
#include "journal/log.hpp"
#include "journal/reader.hpp"

// Helpers that the tests of this room share.
namespace millrace::journal {

// A file with these bytes, without a name.
inline Fd file_of(std::span<const std::byte> bytes) {
  Fd file = *io::create_unnamed(testing::TempDir().c_str());
  EXPECT_TRUE(io::write_at(file, 0, bytes).ok());
  return file;
}

using Written = std::pair<std::uint64_t, std::string>;  // offset, data

// Writes a journal in memory.
struct TestJournal {
  static Identity identity() {
    return {LogKind::ledger, {8, 9, 10, 11, 0}, 1'700'000'000'000'000'000, "/data/out.h5"};
  }

  explicit TestJournal(const Identity& who = identity(), io::MemoryOptions options = {})
      : storage(std::make_unique<io::MemoryStorage>(std::move(options))) {
    std::uint32_t owner = 5;
    writer = std::make_unique<Log>(*storage, owner, who);
    EXPECT_TRUE(writer->open(storage->create()).ok());
    drain();
  }
  void append(std::uint64_t offset, const std::string& data, std::uint64_t stamp = 0) {
    wait_ready();
    writer->append(offset, std::as_bytes(std::span(data.data(), data.size())), stamp);
    written.emplace_back(offset, data);
  }
  void commit() {
    writer->sync();
    drain();
  }
  void wait_ready() {
    for (int rounds = 0; !writer->ready() && rounds < 10'000; ++rounds) round();
  }
  void round() {
    storage->kick();
    std::vector<io::Completion> done;
    storage->poll(done);
    for (const io::Completion& one : done) writer->complete(one);
  }
  void drain() {
    for (int rounds = 0; !writer->idle() && rounds < 10'000; ++rounds) round();
    EXPECT_TRUE(writer->idle());
  }
  void finish() {
    writer->flush();
    drain();
    EXPECT_TRUE(writer->status().ok());
    writer.reset();
  }
  std::vector<std::byte> bytes() const {
    const auto all = storage->contents(0);
    return {all.begin(), all.end()};
  }

  std::unique_ptr<io::MemoryStorage> storage;
  std::unique_ptr<Log> writer;
  std::vector<Written> written;
};

// A small journal with records in no order, a commit, and odd lengths.
inline TestJournal small_journal() {
  TestJournal journal;
  journal.append(100, "hello");
  journal.append(105, "world, of 19 bytes.");
  journal.append(50, "older run");
  journal.commit();
  journal.append(10, "x");
  journal.append(1000, "eight by");
  journal.finish();
  return journal;
}

struct ReadBack {
  Verdict verdict = Verdict::clean;
  std::uint64_t end = 0;
  std::vector<Written> records;
};

inline ReadBack read_all(std::span<const std::byte> bytes, std::size_t window = 64 * KiB) {
  ReadBack back;
  const Fd source = file_of(bytes);
  JournalReader reader(source, window);
  back.verdict = reader.open();
  if (back.verdict != Verdict::clean) return back;
  for (Record record; reader.next(record);) {
    if (record.type != Type::data) continue;
    back.records.emplace_back(
        record.offset, std::string(reinterpret_cast<const char*>(record.data.data()), record.data.size()));
  }
  back.verdict = reader.verdict();
  back.end = reader.position();
  return back;
}

}  // namespace millrace::journal
