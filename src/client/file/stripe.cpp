// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/file/stripe.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "base/settings.hpp"
#include "client/file/mounts.hpp"

namespace millrace::client {

namespace {

constexpr std::uint32_t lustre_plain = 0x0BD10BD0;
constexpr std::uint32_t lustre_pooled = 0x0BD30BD0;  // the same, with the name of a pool behind it
constexpr std::size_t lustre_stripe_at = 24;

std::uint64_t if_usable(std::uint64_t bytes) {
  return std::has_single_bit(bytes) && bytes >= MiB && bytes <= GiB ? bytes : 0;
}

}  // namespace

std::uint64_t lustre_stripe(std::span<const std::byte> layout) {
  std::uint32_t magic = 0;
  std::uint32_t stripe = 0;
  if (layout.size() < lustre_stripe_at + sizeof stripe) return 0;
  std::memcpy(&magic, layout.data(), sizeof magic);
  std::memcpy(&stripe, layout.data() + lustre_stripe_at, sizeof stripe);
  return magic == lustre_plain || magic == lustre_pooled ? if_usable(stripe) : 0;
}

std::uint64_t stripe_of(const TargetFile& target) {
  const std::string path = target.lasting_path();
  if (file_system_of(target.device()).starts_with("lustre ")) {
    std::array<std::byte, 4096> layout;
    const ssize_t size = ::getxattr(path.c_str(), "lustre.lov", layout.data(), layout.size());
    const std::uint64_t stripe =
        size > 0 ? lustre_stripe(std::span(layout).first(static_cast<std::size_t>(size))) : 0;
    if (stripe != 0) return stripe;
  }
  // Parallel file systems such as GPFS give the size of their block here. Local file systems and FUSE give
  // far less than a MiB.
  struct statx about {};
  const bool known = ::statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC, STATX_TYPE, &about) == 0;
  return known ? if_usable(about.stx_blksize) : 0;
}

}  // namespace millrace::client
