// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/call/calls.hpp"

#include <strings.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "client/file/own_pieces.hpp"
#include "client/file/refresh.hpp"
#include "client/open/own_process.hpp"
#include "front/mpiio/call/pending.hpp"
#include "front/mpiio/call/unmapped.hpp"
#include "front/mpiio/handles/handlers.hpp"
#include "front/mpiio/handles/table.hpp"
#include "front/mpiio/open/inputs.hpp"
#include "front/mpiio/open/open_first.hpp"
#include "front/mpiio/open/open_read.hpp"
#include "front/mpiio/ranks/communicator.hpp"
#include "front/mpiio/types/datatype.hpp"
#include "front/mpiio/types/linear.hpp"
#include "front/mpiio/types/refused_view.hpp"
#include "front/mpiio/types/view_check.hpp"

namespace millrace::front {
namespace {

// Records stay valid when the view changes. A new view only changes the policy of later calls.
Status adopt_view(Open& open, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                  const char* datarep) {
  const bool usable = open.pipeline();
  ++open.view.set;
  open.view.fresh = true;
  std::shared_ptr<const client::TypeMap> map = share_map(filetype);
  MPI_Count unit = 0;
  open.view.mapped = map != nullptr && disp >= 0 && PMPI_Type_size_x(etype, &unit) == MPI_SUCCESS && unit > 0;
  if (open.view.mapped) {
    open.view.map =
        client::FileView(static_cast<std::uint64_t>(disp), static_cast<std::uint64_t>(unit), std::move(map));
    open.view.mapped = open.view.map.usable() && library_agrees(open.handle, open.view.map);
  }
  open.view.foreign = strcasecmp(datarep, "native") != 0;
  // The library would convert the bytes, but it does not write or read them on a node without the file.
  if (open.first.location == Open::Location::elsewhere) open.view.mapped &= !open.view.foreign;
  const bool unmapped = !open.view.mapped && open.writable &&
                        open.first.location != Open::Location::elsewhere && !open.nodes.bypassed &&
                        !open.view.foreign;
  const bool taken = !unmapped || set_unmapped_view(open, disp, etype, filetype, datarep);
  open.pointer.start(0, true);
  if (!taken) return Code::io;
  if (open.pipeline() == usable) return {};
  if (open.pipeline()) return open.file->set_direct({});
  if (!open.view.foreign) tell_if_too_large(filetype, open.path);
  return open.file->set_direct({client::Reason::view_unmapped});
}

// Another handle may have pending bytes at the end of the file, so MPI_SEEK_END flushes first.
int seek_to_read(Entry entry, const Open& open, MPI_Offset offset, int whence) {
  const MPI_File source = open.reading();
  const Status flushed =
      whence == MPI_SEEK_END && source == open.handle ? open.file->flush(Before::read) : Status();
  const int result = call<Slot::MPI_File_seek>(entry, source, offset, whence);
  return flushed.ok() ? result : raise(open, flushed);
}

// ROMIO answers "false" for file systems whose clients have caches of their own (NFS), because another node
// may read old bytes until MPI_File_sync. HDF5 1.14 then refuses independent writes. If all ranks of the file
// are on one node, they share its cache, and a read finds what any of them has written. So the answer is
// "true" there. Without the key, or on several nodes, the library's answer stays.
void answer_visibility(const Open& open, MPI_Info info) {
  constexpr const char* key = "romio_visibility_immediate";
  std::array<char, MPI_MAX_INFO_VAL + 1> value{};
  int there = 0;
  if (!open.nodes.one || PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value.data(), &there) != MPI_SUCCESS)
    return;
  if (there != 0 && std::string_view(value.data()) == "false") PMPI_Info_set(info, key, "true");
}

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
  const bool unused = open->nodes.meets_at_close && all_ranks(*open, !open->file->counts().used_pipeline());
  const Status status = open->file->close();
  if (open->nodes.routed && !unused) {  // so the next open finds all nodes' writes
    (void)all_ranks(*open, true);
    // All ranks of a node share its mount. The other ranks wait for this one in the library's close, which is
    // collective.
    if (open->nodes.looks_again) client::refresh(open->path);
  }
  close_unmapped(*open);
  return status.ok() ? MPI_SUCCESS : raise(*open, status);
}

// One rank has changed the file's size for all. The mounts of other nodes may remember the old size, and
// reads there would end at it.
int was_resized(const Open& open, int result, const Status& flushed) {
  if (open.nodes.routed && result == MPI_SUCCESS) client::refresh(open.path);
  return flushed.ok() ? result : raise(open, flushed);
}

}  // namespace

void order_between_nodes() noexcept {
  const Scope scope;
  if (!scope.outermost()) return;
  try {
    order_files();
    client::let_agent_work();
  } catch (...) {
    client::log("out of memory: if several nodes write the same bytes, older bytes may stay in the file");
  }
}

int own_get_info(Entry entry, MPI_File fh, MPI_Info* info_used) noexcept {
  const Scope scope;
  const int result = call<Slot::MPI_File_get_info>(entry, fh, info_used);
  const Open* open = scope.find(fh);
  if (open == nullptr || open->guest || result != MPI_SUCCESS) return result;
  if (open->reads.reader != nullptr || !open->writable) {
    const bool pieces = open->reads.through != client::Through::none;
    PMPI_Info_set(*info_used, "millrace_stage",
                  open->reading() != open->handle ? "whole" : (pieces ? "pieces" : "none"));
    return MPI_SUCCESS;
  }
  answer_visibility(*open, *info_used);
  try {
    const FileSettings& settings = open->file->settings();
    PMPI_Info_set(*info_used, "millrace_strategy", std::string(name_of(settings.strategy)).c_str());
    PMPI_Info_set(*info_used, "millrace_merge", settings.merge != 0 ? "1" : "0");
    PMPI_Info_set(*info_used, "millrace_sort_buffer", std::to_string(settings.sort_buffer_bytes).c_str());
    PMPI_Info_set(*info_used, "millrace_durability", std::string(name_of(settings.durability)).c_str());
  } catch (...) {
    return raise(*open, Code::no_memory);
  }
  return MPI_SUCCESS;
}

int own_set_view(Entry entry, MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                 const char* datarep, MPI_Info info) noexcept {
  const Scope scope;
  Open* open = scope.find(fh);
  if (open != nullptr) end_all_pending(*open);
  if (open != nullptr && open->file->own_pieces() != nullptr) open->file->own_pieces()->let_sieve();
  const int result = call<Slot::MPI_File_set_view>(entry, fh, disp, etype, filetype, datarep, info);
  if (open == nullptr || open->guest || result != MPI_SUCCESS) return result;
  if (open->reads.reader != nullptr)
    return open->reading() == open->handle ? result
                                           : call<Slot::MPI_File_set_view>(Entry::pmpi, open->reading(), disp,
                                                                           etype, filetype, datarep, info);
  try {
    const Status status = adopt_view(*open, disp, etype, filetype, datarep);
    return status.ok() ? result : raise(*open, status);
  } catch (...) {
    return raise(*open, Code::no_memory);
  }
}

int own_seek(Entry entry, MPI_File fh, MPI_Offset offset, int whence) noexcept {
  const Scope scope;
  Open* open = scope.find(fh);
  if (open == nullptr) return call<Slot::MPI_File_seek>(entry, fh, offset, whence);
  if (open->guest || open->reads.reader != nullptr) return seek_to_read(entry, *open, offset, whence);
  if (open->pointer.seek(offset, whence)) return MPI_SUCCESS;
  const Status flushed = settle_size(*open);  // bytes at the end of the file may be pending
  if (!flushed.ok() && open->first.location == Open::Location::elsewhere) return raise(*open, flushed);
  open->pointer.give_to_library();
  const int result = call<Slot::MPI_File_seek>(entry, fh, offset, whence);
  return flushed.ok() ? result : raise(*open, flushed);
}

int own_get_position(Entry entry, MPI_File fh, MPI_Offset* offset) noexcept {
  const Scope scope;
  Open* open = scope.find(fh);
  if (open == nullptr || open->guest || offset == nullptr)
    return call<Slot::MPI_File_get_position>(entry, fh, offset);
  if (open->reads.reader != nullptr) return call<Slot::MPI_File_get_position>(entry, open->reading(), offset);
  return open->pointer.get(*offset);
}

int own_seek_shared(Entry entry, MPI_File fh, MPI_Offset offset, int whence) noexcept {
  const Scope scope;
  const Open* open = scope.find(fh);
  if (open == nullptr) return call<Slot::MPI_File_seek_shared>(entry, fh, offset, whence);
  if (open->first.location != Open::Location::everywhere)
    return not_on_first(*open, "using the shared file pointer");
  const Status flushed = open->file->flush(Before::read);
  const int result = call<Slot::MPI_File_seek_shared>(entry, fh, offset, whence);
  return flushed.ok() ? result : raise(*open, flushed);
}

int own_get_position_shared(Entry entry, MPI_File fh, MPI_Offset* offset) noexcept {
  const Scope scope;
  const Open* open = scope.find(fh);
  if (open == nullptr || open->first.location == Open::Location::everywhere)
    return call<Slot::MPI_File_get_position_shared>(entry, fh, offset);
  return not_on_first(*open, "using the shared file pointer");
}

int own_set_size(Entry entry, MPI_File fh, MPI_Offset size) noexcept {
  const Scope scope;
  Open* open = scope.find(fh);
  if (open == nullptr) return call<Slot::MPI_File_set_size>(entry, fh, size);
  note_write(*open, true);
  if (changes_first(*open) && size >= 0) return resize_first(*open, size, true);
  const Status flushed = open->file->flush(
      Before::resize, {static_cast<std::uint64_t>(std::max<MPI_Offset>(size, 0)), everything.end});
  return was_resized(*open, call<Slot::MPI_File_set_size>(entry, fh, size), flushed);
}

int own_preallocate(Entry entry, MPI_File fh, MPI_Offset size) noexcept {
  const Scope scope;
  Open* open = scope.find(fh);
  if (open == nullptr) return call<Slot::MPI_File_preallocate>(entry, fh, size);
  note_write(*open, true);
  if (changes_first(*open) && size >= 0) return resize_first(*open, size, false);
  const Status flushed = open->file->flush(Before::write);
  return was_resized(*open, call<Slot::MPI_File_preallocate>(entry, fh, size), flushed);
}

int own_get_size(Entry entry, MPI_File fh, MPI_Offset* size) noexcept {
  const Scope scope;
  Open* open = scope.find(fh);
  if (open == nullptr) return call<Slot::MPI_File_get_size>(entry, fh, size);
  const Status flushed = settle_size(*open);
  if (!flushed.ok() && open->first.location == Open::Location::elsewhere) return raise(*open, flushed);
  const int result = call<Slot::MPI_File_get_size>(entry, fh, size);
  return flushed.ok() ? result : raise(*open, flushed);
}

int own_set_atomicity(Entry entry, MPI_File fh, int flag) noexcept {
  const Scope scope;
  Open* open = scope.find(fh);
  if (open == nullptr || open->guest) return call<Slot::MPI_File_set_atomicity>(entry, fh, flag);
  if (open->first.location != Open::Location::everywhere && flag != 0)
    return not_on_first(*open, "atomic mode");
  // The flush comes first. After the library's collective call, every write must be visible at once.
  Status status = flag != 0 ? open->file->set_direct({client::Reason::atomic_mode}) : Status{};
  const int result = call<Slot::MPI_File_set_atomicity>(entry, fh, flag);
  if (result == MPI_SUCCESS) {
    open->atomic = flag != 0;
    if (flag == 0 && open->pipeline()) status = open->file->set_direct({});
  }
  return status.ok() ? result : raise(*open, status);
}

int own_sync(Entry entry, MPI_File fh) noexcept {
  const Scope scope;
  Open* open = scope.find(fh);
  if (open == nullptr || open->guest) return call<Slot::MPI_File_sync>(entry, fh);
  if (open->reads.reader != nullptr) {
    const int result = call<Slot::MPI_File_sync>(entry, fh);
    look_again(*open);  // no known library syncs a file that is open for reading only
    return result;
  }
  const Status status = open->file->sync();
  // The library's call is collective, and programs rely on the barrier that some libraries have in it. So the
  // call is always made.
  const int result = call<Slot::MPI_File_sync>(entry, fh);
  try {
    agree_on_writes(*open);
  } catch (...) {
    return raise(*open, Code::no_memory);
  }
  return status.ok() ? result : raise(*open, status);
}

// The library's close calls the program's error handler, so it is outside of any Scope.
int own_close(Entry entry, MPI_File* fh) {
  int first = MPI_SUCCESS;
  Fd held;
  std::string deleted;
  // This runs inside other hooks too, because the library and tools may close a file there.
  if (fh != nullptr) {
    const Scope scope;
    try {
      // The file that is closed needs no order: whoever opens it next waits for everything that is left of
      // it. An order of a file with a ledger waits for the file's disk, and durability node promises a close
      // that does not.
      std::unique_ptr<Open> open = remove(*fh);
      if (scope.outermost()) order_files();
      if (open != nullptr) {
        end_all_pending(*open);
        held = std::move(open->first.stand_in);
        if (open->first.delete_on_close) deleted = open->path;
        first = leave(std::move(open));
      }
    } catch (...) {
      first = MPI_ERR_NO_MEM;
    }
  }
  (void)handled(first);  // the handle is still open
  if (fh != nullptr) give_handler_back(*fh);
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
