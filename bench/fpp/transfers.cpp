// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "fpp/transfers.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "common/pattern.hpp"
#include "common/system.hpp"

namespace bench::fpp {

namespace {

constexpr fpp_kernel fpp_fortran{fpp_f_open, fpp_f_write, fpp_f_read, fpp_f_close};
constexpr std::size_t piece_bytes = 4 << 20;

void check(bool good, const char* what, const std::string& path) {
  if (!good) throw std::runtime_error(std::string(what) + ": " + path + ": " + std::strerror(errno));
}

// By system calls that no preload sees.
void move_all(long call, int fd, double* values, std::size_t size, const std::string& path) {
  for (std::size_t done = 0; done < size;) {
    const std::size_t part = std::min(piece_bytes, size - done);
    const long moved = ::syscall(call, fd, reinterpret_cast<unsigned char*>(values) + done, part);
    if (moved < 0 && errno == EINTR) continue;
    check(moved > 0, call == SYS_write ? "write" : "read", path);
    done += static_cast<std::size_t>(moved);
  }
}

}  // namespace

Transfers::Transfers(const Settings& settings, std::string path, std::uint64_t size, int device)
    : settings_(settings),
      api_(by_api(settings) ? std::make_unique<Api>(settings, device) : nullptr),
      kernel_(api_ != nullptr ? api_->kernel() : (settings.language == "c" ? fpp_c : fpp_fortran)),
      path_(std::move(path)),
      values_(size / sizeof(double)) {
  if (settings.memory != "device") return;
  device_ = open_cuda(settings.driver, device);
  pinned_ = std::make_unique<Pinned>(*device_, std::min<std::size_t>(size, piece_bytes));
  address_ = device_->allocate(size);
}

Transfers::~Transfers() {
  if (raw_ >= 0) ::close(raw_);
  if (device_) device_->release(address_);
}

void Transfers::remove() { remove_file(path_); }

void Transfers::fill_host(std::uint64_t seed) { fill(values_.data(), size(), 0, seed); }

void Transfers::fill_values(std::uint64_t seed) {
  fill_host(seed);
  if (!device_) return;
  device_->copy(Direction::write, values_.data(), address_, size());
  std::fill(values_.begin(), values_.end(), 0.0);
}

void Transfers::clear_values() {
  std::fill(values_.begin(), values_.end(), 0.0);
  if (device_) device_->copy(Direction::write, values_.data(), address_, size());
}

bool Transfers::values_are(std::uint64_t seed) {
  if (device_) {
    std::fill(values_.begin(), values_.end(), 0.0);
    device_->copy(Direction::read, values_.data(), address_, size());
  }
  return mismatch(values_.data(), size(), 0, seed) == no_mismatch;
}

double* Transfers::place() {
  if (!device_) return values_.data();
  if (by_address()) return reinterpret_cast<double*>(address_);
  if (settings_.method == "normal") return values_.data();
  fresh_ = std::vector<double>(values_.size());
  return fresh_.data();
}

void Transfers::open(bool writes) {
  check(kernel_.open(path_.c_str(), writes ? 1 : 0, settings_.buffer) == 0, "open", path_);
}

void Transfers::write() {
  double* const from = place();
  if (by_host()) device_->copy(Direction::read, from, address_, size());
  check(kernel_.write(from, values_.size()) == 0, "write", path_);
  fresh_ = {};
  if (!settings_.fsync) return;
  const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = fd >= 0 && ::fsync(fd) == 0;
  if (fd >= 0) ::close(fd);
  check(done, "fsync", path_);
}

void Transfers::read() {
  double* const into = place();
  check(kernel_.read(into, values_.size()) == 0, "read", path_);
  if (by_host()) device_->copy(Direction::write, into, address_, size());
  fresh_ = {};
}

void Transfers::close() { check(kernel_.close() == 0, "close", path_); }

void Transfers::raw_open(bool writes) {
  raw_ = ::open(path_.c_str(), (writes ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY) | O_CLOEXEC, 0644);
  check(raw_ >= 0, "open", path_);
}

void Transfers::raw_write() {
  move_all(SYS_write, raw_, values_.data(), size(), path_);
  check(!settings_.fsync || ::syscall(SYS_fsync, raw_) == 0, "fsync", path_);
}

void Transfers::raw_read() { move_all(SYS_read, raw_, values_.data(), size(), path_); }

void Transfers::raw_close() {
  ::close(raw_);
  raw_ = -1;
}

void Transfers::copy(Direction direction) {
  const std::size_t slot = std::min(size(), piece_bytes);
  for (std::size_t at = 0; at < size(); at += slot)
    device_->post(direction, pinned_->data(), address_ + at, std::min(slot, size() - at), 0);
  device_->wait(0);
}

}  // namespace bench::fpp
