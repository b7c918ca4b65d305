// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/file/storage_host.hpp"

#include <sys/utsname.h>
#include <sys/xattr.h>

#include <array>

#include "base/checksum.hpp"
#include "client/file/mounts.hpp"

namespace millrace::client {

std::string gluster_host(std::string_view path_info) {
  constexpr std::string_view brick = "<POSIX(";
  std::string host;
  for (std::size_t at = 0; (at = path_info.find(brick, at)) != std::string_view::npos; at += brick.size()) {
    const std::size_t begin = path_info.find("):", at);
    const std::size_t end = begin == std::string_view::npos ? begin : path_info.find(':', begin + 2);
    if (end == std::string_view::npos) return {};
    const std::string_view name = path_info.substr(begin + 2, end - begin - 2);
    if (!host.empty() && host != name) return {};
    host = name;
  }
  return host;
}

std::string mounted_host(std::string_view file_system) {
  const std::size_t space = file_system.find(' ');
  const std::string_view type = file_system.substr(0, space);
  if (space == std::string_view::npos || (type != "nfs" && type != "nfs4" && type != "fuse.sshfs")) return {};
  std::string_view source = file_system.substr(space + 1);
  const std::size_t colon = source.find(':');
  if (colon == std::string_view::npos) return {};
  source = source.substr(0, colon);
  const std::size_t user = source.find('@');
  return std::string(user == std::string_view::npos ? source : source.substr(user + 1));
}

std::uint64_t storage_host(const TargetFile& target) {
  const std::string file_system = file_system_of(target.device());
  if (!file_system.starts_with("fuse.glusterfs ")) return host_number(mounted_host(file_system));
  std::array<char, 4096> info;
  const ssize_t size =
      ::getxattr(target.lasting_path().c_str(), "glusterfs.pathinfo", info.data(), info.size());
  return size > 0 ? host_number(gluster_host({info.data(), static_cast<std::size_t>(size)})) : 0;
}

std::uint64_t host_number(std::string_view name) {
  name = name.substr(0, name.find('.'));
  return name.empty() ? 0 : checksum(name.data(), name.size()) | 1u;
}

std::uint64_t own_host_number() {
  utsname names{};
  return ::uname(&names) == 0 ? host_number(names.nodename) : 0;
}

}  // namespace millrace::client
