// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "client/file/target_file.hpp"

namespace millrace::client {

// The size of a stripe: the bytes that lie together on one server of a parallel file system. A power of two
// in [1 MiB, 1 GiB], or 0 if the file system does not tell. File servers of Millrace that take whole stripes
// never write to the same server. Only Lustre is asked; no other server gets a question.
std::uint64_t stripe_of(const TargetFile& target);

// The size of a stripe from the layout that Lustre keeps in the attribute "lustre.lov" (struct lov_user_md of
// its lustre_user.h: magic, pattern, object id, then the size of a stripe); 0 for other layouts.
std::uint64_t lustre_stripe(std::span<const std::byte> layout);

}  // namespace millrace::client
