// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/fd.hpp"
#include "base/file_identity.hpp"
#include "base/result.hpp"
#include "transport/channel.hpp"

namespace millrace::client {

// A file whose records outlive the agent (strategy journal), as the agent knows it.
struct Protected {
  std::uint32_t file;
  FileIdentity identity;
  std::string path;
};

// `target` is open.
Protected protect(std::uint32_t file, const Fd& target, const Result<FileIdentity>& identity);

// The agent has gone: what it had not given back of a file's records goes to a journal beside its ledger, for
// `millrace recover`. Ok if there was nothing.
Status rescue(const transport::Producer& ring, const Protected& file, const std::string& directory);

}  // namespace millrace::client
