// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/session.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "client/testing/silent_contact.hpp"
#include "transport/memory.hpp"

namespace millrace::client {
namespace {

struct Place {
  std::string path = ::testing::TempDir() + "session_test-XXXXXX";
  Place() {
    if (::mkdtemp(path.data()) == nullptr) std::abort();
  }
  ~Place() { std::filesystem::remove_all(path); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
};

std::string all_journals(const std::string& folder) {
  std::string text;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    if (entry.is_regular_file()) text.append(std::istreambuf_iterator<char>(in), {});
  }
  return text;
}

// The agent gives a number again when the file that had it is closed.
TEST(Session, WhatIsSavedIsOfTheFileThatHasTheNumberNow) {
  const Place place;
  const std::size_t page_bytes = sizeof(transport::AgentPage);
  const Result<Fd> memory = transport::make_memory("session_test", page_bytes);
  bool gone = false;
  Session session({*transport::Producer::create(64 * KiB), *transport::map(memory->get(), page_bytes),
                   std::make_unique<testing::SilentContact>([&gone] { return gone; }), 1000, true,
                   place.path});
  session.protect({0, {1, 100}, "/data/closed"});
  session.protect({0, {1, 200}, "/data/open"});
  const std::string bytes = "of the second file";
  const Piece piece{0, bytes.data(), bytes.size()};
  Tally tally;
  ASSERT_TRUE(session.write(0, {&piece, 1}, 4 * KiB, tally).ok());
  gone = true;
  EXPECT_EQ(session.request(transport::Kind::sync, 0, everything, tally).code(), Code::lost_agent);
  const std::string saved = all_journals(place.path);
  EXPECT_NE(saved.find("/data/open"), std::string::npos);
  EXPECT_NE(saved.find(bytes), std::string::npos);
  EXPECT_EQ(saved.find("/data/closed"), std::string::npos);
}

}  // namespace
}  // namespace millrace::client
