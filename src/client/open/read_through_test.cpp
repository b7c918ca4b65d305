// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Tests that a handle that reads through agents sees what other handles have written.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "client/file/agent_reads.hpp"
#include "client/open/testing/ranks.hpp"
#include "client/session/read_window.hpp"
#include "client/view/typemap.hpp"
#include "client/view/view.hpp"

namespace millrace::client {
namespace {

using testing::create;
using testing::Job;
using testing::open_file;
using testing::pattern;

constexpr std::uint64_t piece_bytes = 4 * KiB;
constexpr std::uint64_t file_bytes = 1 * MiB;

std::unique_ptr<File> open_routed(const std::string& path, std::uint64_t group, bool writable) {
  OpenRequest request = testing::routed_request(path, group);
  if (request.routing.lanes == 0) return nullptr;
  request.writable = writable;
  request.through = !writable;
  return open(std::move(request));
}

// Reads one piece as the front does.
int expect(File& reader, std::uint64_t begin, const std::vector<std::byte>& right) {
  static const FileView view(0, 1, std::make_shared<const TypeMap>(contiguous_type(1)));
  std::vector<std::byte> memory(right.size());
  RANK_CHECK(reader.flush(Before::read, {begin, begin + right.size()}).ok());
  const PieceSource source(view, begin, view.filetype(), memory.data(), memory.size());
  RANK_CHECK(reader.agent_reads()->read(view, begin, source, begin + right.size()).ok());
  RANK_CHECK(memory == right);
  return 0;
}

int fill(const std::string& path, std::uint64_t bytes = file_bytes) {
  create(path);
  const std::vector<std::byte> all = pattern(1, 0, bytes);
  const Fd file(::open(path.c_str(), O_RDWR));
  RANK_CHECK(::pwrite(file.get(), all.data(), all.size(), 0) == static_cast<ssize_t>(all.size()));
  return 0;
}

// Reads the first pieces in order, so that the next ones are read ahead.
int begin_to_read(File& reader) {
  for (std::uint64_t at = 0; at < 8 * piece_bytes; at += piece_bytes)
    RANK_CHECK(expect(reader, at, pattern(1, at, piece_bytes)) == 0);
  return 0;
}

TEST(ReadThrough, AGuessIsNotOlderThanTheOwnWriteBeforeIt) {
  if (!Job::real_agent()) GTEST_SKIP() << "needs the real agent";
  Job job("ahead", {"MILLRACE_STRATEGY=sort"});
  EXPECT_EQ(job.run([&] {
    const std::string path = job.path("data");
    RANK_CHECK(fill(path) == 0);
    auto writer = open_file(path);
    auto reader = open_routed(path, 2, false);
    RANK_CHECK(reader != nullptr && begin_to_read(*reader) == 0);
    // The write lies behind the next read, which asks ahead for its bytes.
    const std::uint64_t at = 9 * piece_bytes;
    const std::vector<std::byte> mine = pattern(2, at, piece_bytes);
    const Piece piece{at, mine.data(), mine.size()};
    RANK_CHECK(writer->enter_pipeline({mine.size(), 1, 1}) && writer->write({&piece, 1}).ok());
    RANK_CHECK(expect(*reader, 8 * piece_bytes, pattern(1, 8 * piece_bytes, piece_bytes)) == 0);
    RANK_CHECK(expect(*reader, at, mine) == 0);
    RANK_CHECK(reader->close().ok() && writer->close().ok());
    return 0;
  }),
            0);
}

TEST(ReadThrough, AnOwnWriteWhileAReadIsOnItsWayIsReadBehindIt) {
  if (!Job::real_agent()) GTEST_SKIP() << "needs the real agent";
  Job job("behind", {"MILLRACE_STRATEGY=sort"});
  EXPECT_EQ(job.run([&] {
    const std::string path = job.path("data");
    RANK_CHECK(fill(path) == 0);
    auto writer = open_file(path);
    auto reader = open_routed(path, 2, false);
    RANK_CHECK(reader != nullptr && begin_to_read(*reader) == 0);
    const FileView view(0, 1, std::make_shared<const TypeMap>(contiguous_type(1)));
    std::vector<std::byte> memory(10 * piece_bytes);
    const std::uint64_t begin = 8 * piece_bytes, at = begin + memory.size();
    RANK_CHECK(reader->flush(Before::read, {begin, at}).ok());
    const PieceSource source(view, begin, view.filetype(), memory.data(), memory.size());
    const Result<std::unique_ptr<PendingRead>> read = reader->agent_reads()->start(view, begin, source, at);
    RANK_CHECK(read.ok());
    const std::vector<std::byte> mine = pattern(2, at, piece_bytes);
    const Piece piece{at, mine.data(), mine.size()};
    RANK_CHECK(writer->enter_pipeline({mine.size(), 1, 1}) && writer->write({&piece, 1}).ok());
    RANK_CHECK((*read)->finish().ok() && memory == pattern(1, begin, memory.size()));
    RANK_CHECK(expect(*reader, at, mine) == 0);
    RANK_CHECK(reader->close().ok() && writer->close().ok());
    return 0;
  }),
            0);
}

TEST(ReadThrough, WhatIsReadAheadIsDroppedAtACollectiveFunction) {
  if (!Job::real_agent()) GTEST_SKIP() << "needs the real agent";
  Job job("ordered");
  EXPECT_EQ(job.run([&] {
    const std::string path = job.path("data");
    RANK_CHECK(fill(path) == 0);
    auto writer = open_routed(path, 1, true);
    auto reader = open_routed(path, 2, false);
    RANK_CHECK(writer != nullptr && reader != nullptr && begin_to_read(*reader) == 0);
    // As a rank of another node does.
    const std::uint64_t at = 8 * piece_bytes;
    const std::vector<std::byte> other = pattern(2, at, piece_bytes);
    const Fd file(::open(path.c_str(), O_RDWR));
    RANK_CHECK(::pwrite(file.get(), other.data(), other.size(), static_cast<off_t>(at)) ==
               static_cast<ssize_t>(other.size()));
    RANK_CHECK(reader->flush(Before::others_write).ok());
    RANK_CHECK(expect(*reader, at, other) == 0);
    RANK_CHECK(reader->close().ok() && writer->close().ok());
    return 0;
  }),
            0);
}

// As a rank of a node without the file. The server is this node's agent, so the stand-in is the file.
std::unique_ptr<File> open_elsewhere(const std::string& path) {
  OpenRequest request = testing::routed_request(path, 1);
  if (request.routing.lanes == 0) return nullptr;
  request.stand_in = path;
  return open(std::move(request));
}

// Reads as the front does, and expects so many bytes of the file.
int expect_from_server(File& file, Extent extent, std::uint64_t bytes) {
  const FileView view;
  std::vector<std::byte> memory(extent.size(), std::byte{0x5a});
  const PieceSource source(view, extent.begin, view.filetype(), memory.data(), memory.size());
  const Result<std::uint64_t> got =
      file.agent_reads()->read_from_server(view, extent.begin, source, extent.end);
  RANK_CHECK(got.ok() && *got == bytes);
  std::vector<std::byte> right = pattern(1, extent.begin, bytes);
  right.resize(memory.size(), std::byte{0x5a});
  RANK_CHECK(memory == right);
  return 0;
}

TEST(ReadFromServer, EndsWhereTheFileEnds) {
  if (!Job::real_agent()) GTEST_SKIP() << "needs the real agent";
  Job job("elsewhere");
  EXPECT_EQ(job.run([&] {
    const std::string path = job.path("data");
    RANK_CHECK(fill(path) == 0);
    auto file = open_elsewhere(path);
    RANK_CHECK(file != nullptr);
    const Result<std::uint64_t> size = file->agent_reads()->size_on_server();
    RANK_CHECK(size.ok() && *size == file_bytes);
    RANK_CHECK(expect_from_server(*file, {0, file_bytes}, file_bytes) == 0);
    RANK_CHECK(expect_from_server(*file, {file_bytes - 100, file_bytes + 200}, 100) == 0);
    RANK_CHECK(expect_from_server(*file, {file_bytes + 100, file_bytes + 200}, 0) == 0);
    const std::vector<std::byte> mine = pattern(1, file_bytes + 300, 100);
    const Piece piece{file_bytes + 300, mine.data(), mine.size()};
    RANK_CHECK(file->enter_pipeline({mine.size(), 1, 1}) && file->write({&piece, 1}).ok());
    RANK_CHECK(expect_from_server(*file, {file_bytes + 300, file_bytes + 500}, 100) == 0);
    RANK_CHECK(::truncate(path.c_str(), 1000) == 0);
    RANK_CHECK(expect_from_server(*file, {0, file_bytes}, 1000) == 0);
    RANK_CHECK(file->close().ok());
    return 0;
  }),
            0);
}

TEST(ReadFromServer, DoesNotWaitForReadsThatTheProgramHasNotEnded) {
  if (!Job::real_agent()) GTEST_SKIP() << "needs the real agent";
  Job job("turn");
  EXPECT_EQ(job.run([&] {
    const std::string path = job.path("data"), other = job.path("other");
    const std::uint64_t whole = ReadWindow::parts * ReadWindow::part_bytes;
    RANK_CHECK(fill(path) == 0 && fill(other, whole) == 0);
    auto file = open_elsewhere(path);
    auto reader = open_routed(other, 2, false);
    RANK_CHECK(file != nullptr && reader != nullptr);
    const FileView view;
    std::vector<std::byte> memory(whole);
    const PieceSource source(view, 0, view.filetype(), memory.data(), whole);
    const Result<std::unique_ptr<PendingRead>> read = reader->agent_reads()->start(view, 0, source, whole);
    RANK_CHECK(read.ok());
    RANK_CHECK(expect_from_server(*file, {0, file_bytes}, file_bytes) == 0);
    RANK_CHECK((*read)->finish().ok() && memory == pattern(1, 0, whole));
    RANK_CHECK(reader->close().ok() && file->close().ok());
    return 0;
  }),
            0);
}

}  // namespace
}  // namespace millrace::client
