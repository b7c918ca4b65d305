// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/fd.hpp"
#include "io/storage.hpp"

namespace millrace::io {

// Has a Storage for each device (a mounted file system), which it makes for the first file there. So a device
// that hangs delays only its own files. Owns these storages. Not thread safe.
class DevicesStorage final : public Storage {
 public:
  using Make = std::function<Result<std::unique_ptr<Storage>>()>;
  // More devices than this share the existing storages.
  static constexpr std::size_t most_devices = 16;

  // Makes the first storage at once. Fails if this is not possible.
  static Result<std::unique_ptr<DevicesStorage>> create(Make make);

  Result<Handle> adopt(Fd file, bool direct) override;
  void release(Handle file) override;
  Result<std::uint64_t> size(Handle file) override;
  Result<FileIdentity> identify(const Fd& file, bool for_good) override {
    return devices_.front().storage->identify(file, for_good);
  }
  Result<FileState> state_of(const Fd& file) override { return devices_.front().storage->state_of(file); }
  Result<FileIdentity> recognise(const Fd& file) override {
    return devices_.front().storage->recognise(file);
  }
  bool is_local(const Fd& file) override { return devices_.front().storage->is_local(file); }
  void submit(Request request) override;
  void kick() override;
  void poll(std::vector<Completion>& out) override;
  int event_fd() const override { return epoll_.get(); }

 private:
  struct FileSystem {
    dev_t number = 0;
    bool used = false;
    std::unique_ptr<Storage> storage;
  };
  struct File {
    Storage* storage;
    Handle handle;
  };
  // Calls count as a device of their own: nobody knows for which file systems they wait.
  static constexpr dev_t calls = ~dev_t{0};

  explicit DevicesStorage(Make make) : make_(std::move(make)) {}
  Status add();
  Storage& storage_of(dev_t device);

  Make make_;
  Fd epoll_;  // readable while the descriptor of one of the storages is
  std::vector<FileSystem> devices_;
  std::vector<File> files_;  // by handle
};

}  // namespace millrace::io
