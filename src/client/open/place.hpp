// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.hpp"
#include "client/costs/cost_record.hpp"
#include "client/file/file.hpp"
#include "client/file/target_file.hpp"
#include "client/open/route.hpp"
#include "client/open/stage.hpp"

namespace millrace::client {

// A file, as one rank sees it for other ranks. On a network file system each look is a question to its
// server.
struct Sight {
  bool remote = false;  // on a network file system
  std::uint64_t bytes = 0;
  std::uint64_t storage_host = 0;  // host_number() of the only machine with the file's bytes; 0: not known
  std::uint64_t stripe_bytes = 0;  // the file system's own stripe size; 0: none
};

// The seam between the open protocol and a rank's machine: its node, the agent there, and files.
// Implementations: own_place.cpp (this process), sim/virtual_place.hpp (a rank in virtual time). Thread safe.
class Place {
 public:
  Place() = default;
  virtual ~Place() = default;
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  // A number for the node: ranks with the same number reach the same agent.
  virtual std::uint64_t node() const = 0;
  virtual std::uint64_t host() const = 0;  // own_host_number()
  // The address of this node's agent for agents of other nodes. Starts the agent if there is none.
  virtual Result<AgentAddress> meet() = 0;
  // The address from an earlier meet(). Port 0: no meet() succeeded, or the agent is lost.
  virtual AgentAddress met() = 0;
  // True if this node can reach these agents. Takes a bounded time.
  virtual bool reaches(std::span<const AgentAddress> agents) = 0;
  // False: there are no random numbers.
  virtual bool draw(std::span<std::byte> random) = 0;

  virtual Sight look(const TargetFile& target) = 0;
  virtual Costs costs_of(const TargetFile& target) = 0;
  // The files of a copy (node_copy.hpp): the one that is copied, and this node's copy. See stage.hpp.
  virtual FileStamp stamp_of(const std::string& path) = 0;
  virtual Result<std::unique_ptr<Source>> open_source(const std::string& path) = 0;
  virtual std::string stage_directory() = 0;
  virtual bool has_room(const std::string& directory, std::uint64_t bytes, bool careful) = 0;
  virtual Fd open_copy(const std::string& path) = 0;
  // Opens the file itself, with a mode of open(2). `makes`: on the rank that may make the file, the settings
  // for its name (secure_name). Status::error() is an errno.
  virtual Result<Fd> open_target(const std::string& path, int mode, const FileSettings* makes) = 0;
  virtual std::uint64_t size_of(const Fd& copy) = 0;

  // Prints a line for the user, once.
  virtual void say(const std::string& line) = 0;
  // client::open() for this rank's process.
  virtual std::unique_ptr<File> open(OpenRequest request) = 0;

  // The number of the last route that was probed (meeting.hpp). Its lowest bit says whether the agents reach
  // each other.
  std::uint64_t probed() const { return probed_.load(); }
  void set_probed(std::uint64_t route) { probed_.store(route); }

 private:
  std::atomic<std::uint64_t> probed_{0};
};

// This process's place.
Place& own_place();

}  // namespace millrace::client
