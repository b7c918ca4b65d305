// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "client/file/target_file.hpp"

namespace millrace::client {

// A file of a network file system may lie on one of the nodes that have it open. That node is the best file
// server: each byte of the other nodes then crosses one link.

// The number (host_number) of the only machine that has the bytes of a file; 0: the file system does not
// tell. Asks only GlusterFS.
std::uint64_t storage_host(const TargetFile& target);

// From GlusterFS's attribute "glusterfs.pathinfo", which names each brick of the file as
// "<POSIX(brick):host:path>". Empty if there are several hosts.
std::string gluster_host(std::string_view path_info);
// From the type and the source of a mount, as in /proc/self/mountinfo: "nfs4 host:/export".
std::string mounted_host(std::string_view file_system);

// A number for the name of a machine, without its domain; 0 for no name.
std::uint64_t host_number(std::string_view name);
// That of this machine.
std::uint64_t own_host_number();

}  // namespace millrace::client
