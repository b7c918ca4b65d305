// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/random.h>

#include <string>
#include <utility>

#include "client/file/mounts.hpp"
#include "client/file/storage_host.hpp"
#include "client/file/stripe.hpp"
#include "client/open/company.hpp"
#include "client/open/open.hpp"
#include "client/open/own_process.hpp"
#include "client/open/place.hpp"
#include "client/open/reach.hpp"
#include "client/open/stage.hpp"
#include "client/start/log.hpp"

namespace millrace::client {
namespace {

// TCP sends a lost handshake again after a second.
constexpr std::uint64_t reach_bound_ms = 2500;

class OwnPlace final : public Place {
 public:
  std::uint64_t node() const override { return node_; }
  std::uint64_t host() const override { return host_; }
  Result<AgentAddress> meet() override { return client::meet(); }
  AgentAddress met() override { return client::met(); }
  bool reaches(std::span<const AgentAddress> agents) override { return can_reach(agents, reach_bound_ms); }
  bool draw(std::span<std::byte> random) override {
    return ::getrandom(random.data(), random.size(), 0) == static_cast<ssize_t>(random.size());
  }
  Sight look(const TargetFile& target) override {
    const bool remote = is_remote(target);
    const std::uint64_t host = remote ? storage_host(target) : 0;
    return {remote, client::stamp_of(target.lasting_path()).size, host,
            remote && host == 0 ? stripe_of(target) : 0};
  }
  Costs costs_of(const TargetFile& target) override { return client::costs_of(target); }
  FileStamp stamp_of(const std::string& path) override { return client::stamp_of(path); }
  Result<std::unique_ptr<Source>> open_source(const std::string& path) override {
    return client::open_source(path);
  }
  std::string stage_directory() override { return client::stage_directory(); }
  bool has_room(const std::string& directory, std::uint64_t bytes, bool careful) override {
    return client::has_room(directory, bytes, careful);
  }
  Fd open_copy(const std::string& path) override { return client::open_copy(path); }
  Result<Fd> open_target(const std::string& path, int mode, const FileSettings* makes) override {
    Result<Fd> target = client::open_target(path, mode);
    const Status named = target && makes != nullptr ? secure_name(path, *makes) : Status();
    return named.ok() ? std::move(target) : named;
  }
  std::uint64_t size_of(const Fd& copy) override { return client::stamp_of(copy.get()).size; }
  void say(const std::string& line) override { log(line); }
  std::unique_ptr<File> open(OpenRequest request) override { return client::open(std::move(request)); }

 private:
  const std::uint64_t node_ = node_number();
  const std::uint64_t host_ = own_host_number();
};

}  // namespace

// Lives as long as the process, because exit handlers may open files too.
Place& own_place() {
  static Place& one = *new OwnPlace;
  return one;
}

}  // namespace millrace::client
