// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/devices_storage.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace millrace::io {
namespace {

// A storage that completes no request until the test allows it.
class Hanging final : public Storage {
 public:
  explicit Hanging(std::vector<Hanging*>& all) { all.push_back(this); }
  Result<Handle> adopt(Fd, bool) override { return adopted++; }
  void release(Handle) override { --adopted; }
  Result<std::uint64_t> size(Handle) override { return std::uint64_t{0}; }
  Result<FileIdentity> identify(const Fd&, bool) override { return FileIdentity{}; }
  Result<FileState> state_of(const Fd&) override { return FileState{}; }
  void submit(Request request) override { requests.push_back(std::move(request)); }
  void kick() override {}
  void poll(std::vector<Completion>& out) override {
    for (; !hangs && !requests.empty(); requests.erase(requests.begin()))
      out.push_back({requests.front().token, {}, 0});
  }
  int event_fd() const override { return -1; }

  Handle adopted = 0;
  std::vector<Request> requests;
  bool hangs = false;
};

class Devices : public testing::Test {
 protected:
  Devices() {
    storage = *DevicesStorage::create([this]() -> Result<std::unique_ptr<Storage>> {
      if (all.size() >= most) return Code::no_memory;
      return std::unique_ptr<Storage>(std::make_unique<Hanging>(all));
    });
  }
  static Fd in_memory() { return Fd(::memfd_create("devices", MFD_CLOEXEC)); }
  static Fd on_disk() {
    std::string path = testing::TempDir() + "millrace-devices-XXXXXX";
    Fd file(::mkostemp(path.data(), O_CLOEXEC));
    ::unlink(path.c_str());
    return file;
  }
  void submit(Handle file, std::uint64_t token) {
    Request request;
    request.file = file;
    request.token = token;
    storage->submit(std::move(request));
  }
  std::vector<std::uint64_t> done() {
    std::vector<Completion> completions;
    storage->poll(completions);
    std::vector<std::uint64_t> tokens;
    for (const Completion& one : completions) tokens.push_back(one.token);
    return tokens;
  }

  std::size_t most = 8;
  std::vector<Hanging*> all;
  std::unique_ptr<DevicesStorage> storage;
};

TEST_F(Devices, FilesOfOneDeviceShareAStorageAndThoseOfAnotherHaveTheirOwn) {
  const Handle first = *storage->adopt(in_memory(), false), disk = *storage->adopt(on_disk(), false);
  const Handle second = *storage->adopt(in_memory(), false);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0]->adopted, 2U);
  EXPECT_EQ(all[1]->adopted, 1U);
  all[0]->hangs = true;
  submit(first, 1);
  submit(second, 2);
  submit(disk, 3);
  EXPECT_EQ(done(), std::vector<std::uint64_t>{3}) << "a device that hangs holds up its own files alone";
  all[0]->hangs = false;
  EXPECT_EQ(done(), (std::vector<std::uint64_t>{1, 2}));
  storage->release(disk);
  EXPECT_EQ(all[1]->adopted, 0U);
}

TEST_F(Devices, WhereNoMoreCanBeMadeDevicesShare) {
  most = 1;
  const Handle memory = *storage->adopt(in_memory(), false), disk = *storage->adopt(on_disk(), false);
  ASSERT_EQ(all.size(), 1U);
  submit(memory, 1);
  submit(disk, 2);
  EXPECT_EQ(done(), (std::vector<std::uint64_t>{1, 2}));
}

TEST_F(Devices, AnInvalidDescriptorIsRefused) { EXPECT_FALSE(storage->adopt(Fd(), false).ok()); }

}  // namespace
}  // namespace millrace::io
