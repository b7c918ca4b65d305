// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "client/file/refresh.hpp"
#include "client/open/own_process.hpp"
#include "client/open/stage.hpp"
#include "front/mpiio/call/calls.hpp"
#include "front/mpiio/call/pending.hpp"
#include "front/mpiio/call/unmapped.hpp"
#include "front/mpiio/handles/table.hpp"
#include "front/mpiio/open/inputs.hpp"
#include "front/mpiio/open/stage.hpp"
#include "front/mpiio/ranks/communicator.hpp"
#include "front/mpiio/types/linear.hpp"

namespace millrace::front {
namespace {

// The program ends without a wait for these.
void end_pending_reads() noexcept {
  try {
    for (Open* open : all_files()) end_all_pending(*open);
  } catch (...) {
    client::log("out of memory at MPI_Finalize: memory of non-blocking reads may lack bytes");
  }
}

// Closes Millrace's part of the file. The library's own close follows in any case.
int leave(std::unique_ptr<Open> open) {
  end_reading(*open);
  // A rank may register the file as long as it writes or reads. So no node's agent may end the file before
  // all ranks are here.
  const bool unused = open->meets_at_close && all_ranks(*open, !open->file->used_pipeline());
  const Status status = open->file->close();
  if (open->routed && !unused) {  // so the next open finds all nodes' writes
    (void)all_ranks(*open, true);
    // All ranks of a node share its mount. The other ranks wait for this one in the library's close, which is
    // collective.
    if (open->looks_again) client::refresh(open->path);
  }
  close_unmapped(*open);
  return status.ok() ? MPI_SUCCESS : raise(*open, status);
}

}  // namespace

int own_close(Entry entry, MPI_File* fh) noexcept {
  const Scope scope;
  int first = MPI_SUCCESS;
  Fd held;
  std::string deleted;
  // This runs inside other hooks too, because an error handler may close the file.
  if (fh != nullptr) {
    try {
      // The file that is closed needs no order: whoever opens it next waits for everything that is left of
      // it. An order of a file with a ledger waits for the file's disk, and durability node promises a close
      // that does not.
      std::unique_ptr<Open> open = remove(*fh);
      if (scope.outermost()) order_routed_files();
      if (open != nullptr) {
        end_all_pending(*open);
        held = std::move(open->stand_in);
        if (open->delete_on_close) deleted = open->path;
        first = leave(std::move(open));
      }
    } catch (...) {
      first = MPI_ERR_NO_MEM;
    }
  }
  const int result = call<Slot::MPI_File_close>(entry, fh);
  if (!deleted.empty()) client::remove_copy(deleted);
  return first != MPI_SUCCESS ? first : result;
}

// The MPI library calls the delete callbacks of MPI_COMM_SELF's attributes first, and programs write and
// close files in them. So this process leaves its agent after that. Leaving needs no MPI.
int own_finalize(Entry entry) noexcept {
  bool outermost = false;
  {
    const Scope scope;
    outermost = scope.outermost();
    if (outermost) {
      end_pending_reads();
      end_linear();
      end_agreements();
    }
  }
  const int result = call<Slot::MPI_Finalize>(entry);
  if (!outermost) return result;
  drop_inputs();
  try {
    client::finalize();
  } catch (...) {
    client::log("an error at MPI_Finalize: files that are still open may lack bytes");
  }
  return result;
}

}  // namespace millrace::front
