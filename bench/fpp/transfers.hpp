// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fpp/api.hpp"
#include "fpp/kernel.h"
#include "fpp/start.hpp"
#include "transfer/device.hpp"

namespace bench::fpp {

// One rank's values and its file, and every way between the two. Failures throw.
class Transfers {
 public:
  // `device` counts where the settings put the values there.
  Transfers(const Settings& settings, std::string path, std::uint64_t size, int device);
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  const std::string& path() const { return path_; }
  void remove();

  // Fills the values in the memory that the method uses, and only there.
  void fill_values(std::uint64_t seed);
  void clear_values();
  bool values_are(std::uint64_t seed);

  void open(bool writes);
  void write();
  void read();
  void close();

  // The limit's parts: plain system calls that no preload sees, and the driver's copies by pinned memory.
  void fill_host(std::uint64_t seed);
  void raw_open(bool writes);
  void raw_close();
  void raw_write();
  void raw_read();
  void copy(Direction direction);

 private:
  std::size_t size() const { return values_.size() * sizeof(double); }
  // The buffer for the language's calls: the values' own memory, or host memory that has a copy.
  double* place();
  bool by_host() const { return device_ != nullptr && !by_address(); }
  // The method is given the device's addresses.
  bool by_address() const { return settings_.method == "accelerated" || by_api(settings_); }

  const Settings& settings_;
  std::unique_ptr<Api> api_;
  const fpp_kernel& kernel_;
  std::string path_;
  std::vector<double> values_, fresh_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Pinned> pinned_;
  std::uint64_t address_ = 0;
  int raw_ = -1;
};

}  // namespace bench::fpp
