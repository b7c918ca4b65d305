// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "client/file/file.hpp"
#include "client/open/place.hpp"

namespace millrace::client::testing {

// An open that only remembers its request.
class Opened final : public File {
 public:
  Opened(OpenRequest request, bool registered) : request_(std::move(request)), registered_(registered) {}
  const OpenRequest& request() const { return request_; }

  bool enter_pipeline(const Transfer&) override { return true; }
  Status write(std::span<const Piece>) override { return {}; }
  Status flush(Before, Extent) override { return {}; }
  void note_direct_write(Extent) override {}
  Status sync() override { return {}; }
  Status close() override { return {}; }
  bool registered() const override { return registered_; }
  Status set_direct(const Ground&) override { return {}; }
  const FileSettings& settings() const override { return request_.settings; }

 private:
  const OpenRequest request_;
  const bool registered_;
};

// The place of a rank on this node, with an agent that listens on a port of the same number.
class TestPlace final : public Place {
 public:
  explicit TestPlace(std::uint16_t node) : node_(node) {}
  bool agent_starts = true, refuses = false, is_reached = true;
  std::uint64_t file_bytes = 0;
  bool remote = true;
  std::string folder = {};  // for copies; empty: there is no room

  std::uint64_t node() const override { return node_; }
  std::uint64_t host() const override { return node_; }
  Result<AgentAddress> meet() override {
    if (!agent_starts) return Code::not_found;
    AgentAddress address{};
    address.port = node_;
    return address;
  }
  AgentAddress met() override { return {}; }
  bool reaches(std::span<const AgentAddress>) override { return is_reached; }
  bool draw(std::span<std::byte> random) override {
    for (std::byte& byte : random) byte = std::byte{3};
    return true;
  }
  Sight look(const TargetFile&) override { return {remote, file_bytes, 0, 0}; }
  Costs costs_of(const TargetFile&) override { return {}; }
  FileStamp stamp_of(const std::string&) override { return {}; }
  Result<std::unique_ptr<Source>> open_source(const std::string&) override { return Code::unsupported; }
  std::string stage_directory() override { return folder; }
  bool has_room(const std::string&, std::uint64_t, bool) override { return !folder.empty(); }
  Fd open_copy(const std::string& path) override { return client::open_copy(path); }
  Result<Fd> open_target(const std::string& path, int mode, const FileSettings*) override {
    return client::open_target(path, mode);
  }
  std::uint64_t size_of(const Fd&) override { return 0; }
  void say(const std::string&) override {}
  std::unique_ptr<File> open(OpenRequest request) override {
    const bool registered = request.left == Reason::none && !request.late && !refuses;
    return std::make_unique<Opened>(std::move(request), registered);
  }

 private:
  const std::uint16_t node_;
};

}  // namespace millrace::client::testing
