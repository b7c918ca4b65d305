// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace millrace::client {

// Bytes that lie together on one server of a file's file system: a power of two in [1 MiB, 1 GiB], or 0 if it
// does not tell. File servers that each take whole stripes never write to the same one.
std::uint64_t stripe_of(const std::string& path);

// ... as the layout says that Lustre keeps in the attribute "lustre.lov" (struct lov_user_md of its
// lustre_user.h: magic, pattern, object id, then the size of a stripe); 0 for what is no plain layout.
std::uint64_t lustre_stripe(std::span<const std::byte> layout);

}  // namespace millrace::client
