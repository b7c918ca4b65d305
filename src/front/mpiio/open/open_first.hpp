// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/handles/open.hpp"

// target=first: the path names a file of rank 0's node, and no other node sees it (docs/adr/0009).
//
//   read only       The file is staged: all handles are of copies. With stage=none it is opened as below.
//   else            Rank 0's node is the file server. Ranks of other nodes have a handle of a stand-in, an
//                   empty file, and their writes take the pipeline.
//
namespace millrace::front {

// Carries out MPI_File_open for such a file. False, on all ranks alike, if all ranks are on one node or some
// rank does not want Millrace. Then nothing has been done, and the file is opened like any other. Collective.
bool open_on_first(Entry entry, MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh,
                   bool admitted, int& result);

// Gives the library's file on this node the size of the file. Call it before asking the library for the size.
Status settle_size(Open& open);

// True if the file has target=first and is open for writing.
inline bool changes_first(const Open& open) {
  return open.first.location != Open::Location::everywhere && open.writable && open.reads.reader == nullptr;
}
// MPI_File_set_size of such a file, or MPI_File_preallocate if `cut` is false. Rank 0 changes the file,
// because the rank that the library chooses may be on a node without the file. Collective.
int resize_first(Open& open, MPI_Offset bytes, bool cut);

// Logs and raises the error of a call that is not possible on such a file.
int not_on_first(const Open& open, const char* what);

}  // namespace millrace::front
