// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/open.hpp"

// target=first: the path names a file of rank 0's node, and no other node sees it (docs/adr/0009).
//
//   read only       staged whole; all handles are of copies
//   else            rank 0's node is the file server; ranks elsewhere have a handle of an empty file, and
//   what
//                   they write takes the pipeline
//
namespace millrace::front {

// True if settings or hints say so.
bool target_is_first(const char* filename, MPI_Info info);

// The whole MPI_File_open of such a file. False, on all ranks alike: all ranks are on one node or do not want
// Millrace, so the file is like any other; nothing has been done. Collective.
bool open_on_first(Entry entry, MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh,
                   int& result);

// Returns when all ranks of such a file have called it. Collective.
void meet_on_first(Open& open);

// Call it before asking the library for the size: on every node the library's file gets the file's size.
Status settle_size(Open& open);

// True for one that is open for writing.
inline bool changes_first(const Open& open) {
  return open.location != Open::Location::everywhere && open.writable && open.reader == nullptr;
}
// MPI_File_set_size of such a file; without `cut` MPI_File_preallocate. Rank 0 does it, because the rank that
// the library would choose may have no file to change. Collective.
int resize_first(Open& open, MPI_Offset bytes, bool cut);

// For a call that is not possible on such a file; raises the error.
int not_on_first(const Open& open, const char* what);

}  // namespace millrace::front
