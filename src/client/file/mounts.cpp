// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/file/mounts.hpp"

#include <sys/stat.h>

#include <string_view>

namespace millrace::client {

namespace {

// The device of the path, or of its folder if the path does not exist yet.
bool device_of(const std::string& path, dev_t& device) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    if (::stat(folder.c_str(), &about) != 0) return false;
  }
  device = about.st_dev;
  return true;
}

}  // namespace

std::string file_system_of(const std::string& path) {
  dev_t device = 0;
  return device_of(path, device) ? file_system_of(device) : std::string();
}

Coherence coherence_of(const std::string& path) {
  dev_t device = 0;
  if (!device_of(path, device)) return Coherence::none;
  const Mount mount = mount_of(device);
  return (mount.type.empty() ? type_by_number(type_of_file_system(path.c_str()))
                             : type_by_name(mount.type, mount.options))
      .coherence;
}

FileSystemType type_of(const TargetFile& target) {
  const Mount mount = mount_of(target.device());
  return mount.type.empty() ? type_by_number(type_of_file_system(target.lasting_path().c_str()))
                            : type_by_name(mount.type, mount.options);
}

bool is_remote(const TargetFile& target) { return type_of(target).coherence != Coherence::machine; }

}  // namespace millrace::client
