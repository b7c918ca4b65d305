// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/stage.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace millrace::client {
namespace {

// Receives the bytes that send_whole() sends.
class Sent final : public File {
 public:
  bool enter_pipeline(const Transfer&) override { return true; }
  Status write(std::span<const Piece> pieces) override {
    for (const Piece& piece : pieces) {
      EXPECT_EQ(piece.offset, bytes.size());
      const auto* const data = static_cast<const char*>(piece.data);
      bytes.append(data, data + piece.size);
    }
    on_write();
    return {};
  }
  Status flush(Before, Extent extent) override {
    EXPECT_EQ(extent, everything);
    flushed = bytes.size();
    on_flush();
    return flush_status;
  }
  void note_direct_write(Extent) override {}
  Status sync() override { return {}; }
  Status close() override { return {}; }
  bool registered() const override { return true; }
  Status set_direct(const Ground&) override { return {}; }
  const FileSettings& settings() const override { return settings_; }

  std::string bytes;
  std::size_t flushed = 0;
  Status flush_status;
  std::function<void()> on_write = [] {}, on_flush = [] {};

 private:
  FileSettings settings_;
};

class SendWhole : public ::testing::Test {
 protected:
  SendWhole() {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i >> 7);
    put(bytes);
    stamp = stamp_of(path);
  }
  ~SendWhole() override { std::filesystem::remove(path); }

  void put(const std::string& text) const { std::ofstream(path, std::ios::binary) << text; }
  Status send() {
    const auto source = open_source(path);
    return source ? send_whole(sent, **source, stamp) : source.status();
  }

  const std::string path = ::testing::TempDir() + "millrace-stage-test-" + std::to_string(::getpid());
  std::string bytes = std::string(1'000'003, 0);
  FileStamp stamp;
  Sent sent;
};

TEST_F(SendWhole, AllBytesAreSentAndFlushed) {
  EXPECT_TRUE(send().ok());
  EXPECT_EQ(sent.bytes, bytes);
  EXPECT_EQ(sent.flushed, bytes.size());
}

TEST_F(SendWhole, AFileThatIsNotThereIsAnError) {
  std::filesystem::remove(path);
  EXPECT_EQ(send().code(), Code::not_found);
}

TEST_F(SendWhole, AnErrorOfAnotherNodeIsTold) {
  sent.flush_status = Code::no_space;
  EXPECT_EQ(send().code(), Code::no_space);
}

TEST_F(SendWhole, AFileThatHasChangedBeforeIsNotSent) {
  std::filesystem::resize_file(path, bytes.size() + 1);
  EXPECT_EQ(send().code(), Code::corrupt);
  EXPECT_EQ(sent.bytes, "");
}

TEST_F(SendWhole, AFileThatIsCutShortMeanwhileIsCorrupt) {
  sent.on_write = [this] { std::filesystem::resize_file(path, 1000); };
  EXPECT_EQ(send().code(), Code::corrupt);
}

TEST_F(SendWhole, AFileThatChangesUntilAllIsThereIsCorrupt) {
  sent.on_flush = [this] {
    std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
  };
  EXPECT_EQ(send().code(), Code::corrupt);
}

}  // namespace
}  // namespace millrace::client
