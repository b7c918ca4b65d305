// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "client/costs/cost_record.hpp"
#include "client/costs/history.hpp"
#include "client/file/file.hpp"

// Opens of this process's files (own_process.hpp), and what an open needs.
namespace millrace::client {

// open() and settle_ledgers() of file.hpp and ledgers.hpp.
std::unique_ptr<File> open(OpenRequest request);
bool settle_ledgers(const char* path, bool writes);

// A close with durability disk or node promises that the bytes survive a crash of the node. So the name of a
// new file has to survive it too. Call it once per open file, on the rank that made the file, before any
// rank's open returns. A file system that refuses the sync of a name needs none.
Status secure_name(const std::string& path, const FileSettings& settings);

// The costs of the file's file system: from the user's record, or typical ones.
Costs costs_of(const TargetFile& target);

// The lessons of this process's earlier files.
History& history();

// True if any rank of this node has bytes pending in any file. With `writes`, bytes in a ledger and bytes
// that this process has read ahead count too. It costs a few loads.
bool anything_pending(bool writes);
// Call it before this file is read or written past MPI-IO. The file's pending bytes of all ranks of this node
// reach the file system. An error stays with the open that wrote the bytes.
void settle_file(std::uint64_t device, std::uint64_t inode, bool writes);

}  // namespace millrace::client
