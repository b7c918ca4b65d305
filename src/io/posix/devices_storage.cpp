// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/devices_storage.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace millrace::io {

namespace {

// The file's device number, which the kernel remembers. A request to the file system could hang.
Result<dev_t> device_of(const Fd& file) {
  struct statx about {};
  if (::statx(file.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &about) != 0)
    return Status::from_errno(errno);
  return (static_cast<dev_t>(about.stx_dev_major) << 32) | about.stx_dev_minor;
}

}  // namespace

Result<std::unique_ptr<DevicesStorage>> DevicesStorage::create(Make make) {
  std::unique_ptr<DevicesStorage> storage(new DevicesStorage(std::move(make)));
  storage->epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!storage->epoll_.valid()) return Status::from_errno(errno);
  if (const Status first = storage->add(); !first.ok()) return first;
  return storage;
}

Status DevicesStorage::add() {
  Result<std::unique_ptr<Storage>> made = make_();
  if (!made) return made.status();
  epoll_event readable{};
  readable.events = EPOLLIN;
  const int event = (*made)->event_fd();
  if (event >= 0 && ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, event, &readable) != 0)
    return Status::from_errno(errno);
  devices_.push_back({0, false, *std::move(made)});
  return {};
}

Storage& DevicesStorage::storage_of(dev_t device) {
  for (const FileSystem& known : devices_) {
    if (known.used && known.number == device) return *known.storage;
  }
  // If no more storages can be made, devices share one.
  if (devices_.back().used && (devices_.size() == most_devices || !add().ok()))
    return *devices_[device % devices_.size()].storage;
  devices_.back().number = device;
  devices_.back().used = true;
  return *devices_.back().storage;
}

Result<Handle> DevicesStorage::adopt(Fd file, bool direct) {
  if (!file.valid()) return Status::from_errno(EBADF);
  const Result<dev_t> device = device_of(file);
  if (!device) return device.status();
  Storage& storage = storage_of(*device);
  const Result<Handle> handle = storage.adopt(std::move(file), direct);
  if (!handle) return handle;
  files_.push_back({&storage, *handle});
  return static_cast<Handle>(files_.size() - 1);
}

void DevicesStorage::release(Handle file) { files_.at(file).storage->release(files_[file].handle); }

Result<std::uint64_t> DevicesStorage::size(Handle file) {
  return files_.at(file).storage->size(files_[file].handle);
}

// A request with an unknown handle goes to a storage too, which fails it.
void DevicesStorage::submit(Request request) {
  if (request.op == Op::call) return storage_of(calls).submit(std::move(request));
  const bool known = request.file < files_.size();
  Storage& storage = known ? *files_[request.file].storage : *devices_.front().storage;
  request.file = known ? files_[request.file].handle : UINT32_MAX;
  storage.submit(std::move(request));
}

void DevicesStorage::kick() {
  for (const FileSystem& device : devices_) device.storage->kick();
}

void DevicesStorage::poll(std::vector<Completion>& out) {
  for (const FileSystem& device : devices_) device.storage->poll(out);
}

}  // namespace millrace::io
