// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/stripe.hpp"

#include <sys/stat.h>
#include <sys/xattr.h>

#include <array>
#include <bit>
#include <cstring>

#include "base/settings.hpp"

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

std::uint64_t stripe_of(const std::string& path) {
  std::array<std::byte, 4096> layout;
  const ssize_t size = ::getxattr(path.c_str(), "lustre.lov", layout.data(), layout.size());
  if (size > 0) {
    const std::uint64_t stripe = lustre_stripe(std::span(layout).first(static_cast<std::size_t>(size)));
    if (stripe != 0) return stripe;
  }
  // Parallel file systems such as GPFS give the size of their block here. Local file systems and FUSE give
  // far less than a MiB.
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 ? if_usable(static_cast<std::uint64_t>(about.st_blksize)) : 0;
}

}  // namespace millrace::client
