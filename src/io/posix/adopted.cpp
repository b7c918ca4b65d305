// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/adopted.hpp"

#include <cerrno>
#include <utility>

#include "base/file_system.hpp"
#include "io/posix/descriptor.hpp"

namespace millrace::io {

Result<Adopted> adopt(Fd file, bool direct) {
  if (!file.valid()) return Status::from_errno(EBADF);
  const bool exact = type_of(file.get()).exact_direct;
  if (!exact && !direct) return Adopted{std::move(file)};
  Result<Fd> reopened = reopen_direct(file);
  if (!reopened && exact) return reopened.status();
  if (!reopened) return Adopted{std::move(file)};
  return Adopted{*std::move(reopened), exact ? Cache::passed : Cache::passed_in_blocks};
}

}  // namespace millrace::io
