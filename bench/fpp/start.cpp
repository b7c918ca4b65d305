// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "fpp/start.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "fpp/api.hpp"
#include "transfer/device.hpp"

namespace bench::fpp {

namespace {

constexpr const char* fortran_buffer = "GFORTRAN_UNFORMATTED_BUFFER_SIZE";
constexpr const char* async_files = "MILLRACE_POSIX_ASYNC";  // as the library that is preloaded has it

bool by_preload(const Settings& settings) {
  return settings.method == "accelerated" || settings.method == "async";
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool is_loaded(const std::string& library) {
  std::error_code ignored;
  const std::string path = std::filesystem::canonical(library, ignored).string();
  std::ifstream maps("/proc/self/maps");
  for (std::string line; !path.empty() && std::getline(maps, line);) {
    if (line.ends_with(path)) return true;
  }
  return false;
}

}  // namespace

std::string preloaded() { return variable("LD_PRELOAD"); }

void start_again(const Settings& settings, char** argv) {
  bool again = false;
  const std::string buffer = std::to_string(settings.buffer);
  if (settings.language == "fortran" && variable(fortran_buffer) != buffer) {
    ::setenv(fortran_buffer, buffer.c_str(), 1);
    again = true;
  }
  // Named already but not loaded: it cannot be, and the loader has said why.
  const std::string before = preloaded();
  if (by_preload(settings) && !settings.preload.empty() &&
      before.find(settings.preload) == std::string::npos) {
    ::setenv("LD_PRELOAD", (before + (before.empty() ? "" : ":") + settings.preload).c_str(), 1);
    again = true;
  }
  const std::string files = std::filesystem::weakly_canonical(settings.folder) / "fpp-*";
  if (settings.method == "async" && variable(async_files) != files) {
    ::setenv(async_files, files.c_str(), 1);
    again = true;
  }
  if (again) ::execv("/proc/self/exe", argv);
}

std::string preload_problem(const Settings& settings) {
  if (by_api(settings)) {
    if (settings.language == "fortran") return settings.method + ": its calls are C's";
    if (settings.library.empty()) return settings.method + ": no library was given (--library FILE)";
    if (!std::filesystem::exists(settings.library))
      return settings.method + ": there is no " + settings.library;
  }
  if (!by_preload(settings)) return "";
  const std::string what = settings.method + ": ";
  if (settings.method == "async" && settings.memory == "device")
    return what + "write-behind is for values in host memory";
  if (settings.memory == "device" && settings.language == "fortran")
    return what +
           "Fortran's runtime copies a part of what it reads by itself, which device memory "
           "does not allow";
  if (settings.preload.empty()) return what + "no library was given (--preload FILE)";
  if (!std::filesystem::exists(settings.preload)) return what + "there is no " + settings.preload;
  if (!is_loaded(settings.preload)) return what + "the loader does not take " + settings.preload;
  return "";
}

int device_of(const Settings& settings, int rank_on_node, int count) {
  if (count == 0) throw NoDevice("no device: the driver has none");
  return (settings.mapping == "spread" ? rank_on_node
                                       : rank_on_node / static_cast<int>(settings.per_device)) %
         count;
}

}  // namespace bench::fpp
