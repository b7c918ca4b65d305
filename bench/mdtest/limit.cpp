// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "mdtest/limit.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>

#include "common/system.hpp"
#include "mdtest/calls.hpp"

namespace bench::mdtest {
namespace {

class Limit {
 public:
  Limit(const Settings& s, int directory) : s_(s), calls_(s, directory) {}

  Limits measure() {
    Limits limits{};
    limits[dir_create] = rate([this](const char* name) { calls_.make_directory(name); });
    limits[dir_stat] = rate([this](const char* name) { calls_.stat_directory(name); });
    limits[dir_remove] = rate([this](const char* name) { calls_.remove_directory(name); });
    limits[file_create] = rate([this](const char* name) { calls_.make_file(name, 0); });
    limits[file_stat] = rate([this](const char* name) { calls_.stat_file(name); });
    limits[file_read] = rate([this](const char* name) { calls_.read_file(name, 0); });
    limits[file_remove] = rate([this](const char* name) { calls_.remove_file(name); });
    if (calls_.errors() > 0) throw std::runtime_error("the limit cannot be measured: see above");
    return limits;
  }

 private:
  template <class Call>
  double rate(Call call) {
    char name[32] = "limit.";
    const double began = now_s();
    for (std::uint64_t i = 0; i < s_.limit_items; i++) {
      *std::to_chars(name + 6, name + sizeof name - 1, i).ptr = 0;
      call(name);
    }
    return static_cast<double>(s_.limit_items) / (now_s() - began);
  }

  const Settings& s_;
  Calls calls_;
};

}  // namespace

Limits measure_limits(const Settings& s, const std::string& folder) {
  const std::string path = folder + "/limit-dir";
  if (::mkdir(path.c_str(), 0775) != 0) {
    throw std::runtime_error("cannot make directory " + path + ": " + std::strerror(errno));
  }
  const int directory = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) throw std::runtime_error("cannot open " + path + ": " + std::strerror(errno));
  // The limit measures all operations, independent of the run's own options.
  Settings all = s;
  all.create = true;
  all.verify_read = false;
  all.read_bytes = std::min(s.read_bytes, s.write_bytes);
  const Limits limits = Limit(all, directory).measure();
  ::close(directory);
  if (::rmdir(path.c_str()) != 0)
    throw std::runtime_error("cannot remove " + path + ": " + std::strerror(errno));
  return limits;
}

}  // namespace bench::mdtest
