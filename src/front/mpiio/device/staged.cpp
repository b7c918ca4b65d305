// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// Transfers of device memory. The transfer is cut into parts of host memory. Each part takes the normal path,
// as if the program had copied it. If other ranks wait in the library, this rank calls the collective
// function once, with no data. Shared pointers and atomic mode forbid such cuts. A small transfer of that
// kind is copied as a whole.
#include "front/mpiio/device/staged.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <vector>

#include "front/mpiio/call/completion.hpp"
#include "front/mpiio/call/library.hpp"
#include "front/mpiio/call/way.hpp"
#include "front/mpiio/device/device_memory.hpp"
#include "front/mpiio/device/file_side.hpp"
#include "front/mpiio/types/datatype.hpp"

namespace millrace::front {
namespace {

// The largest transfer that is copied as a whole. The copy does not count against the bound of staging
// memory.
constexpr std::uint64_t whole_max = 8 * MiB;
// For memory with holes: the most data that is gathered at a time.
constexpr std::size_t packed_max = 1 * MiB;

struct LibraryView {
  bool known = false;  // the view is native, the file is not in atomic mode, and etype_bytes is valid
  std::uint64_t etype_bytes = 1;
};

void drop(MPI_Datatype& type) {
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  if (PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS) return;
  if (combiner != MPI_COMBINER_NAMED) PMPI_Type_free(&type);
}

LibraryView view_of(MPI_File file) {
  MPI_Offset displacement = 0;
  MPI_Datatype etype, filetype;
  char name[MPI_MAX_DATAREP_STRING] = {};
  int atomic = 0;
  MPI_Count size = 0;
  if (PMPI_File_get_view(file, &displacement, &etype, &filetype, name) != MPI_SUCCESS) return {};
  const bool sized = PMPI_Type_size_x(etype, &size) == MPI_SUCCESS && size > 0;
  drop(etype);
  drop(filetype);
  const bool native = std::string_view(name) == "native";
  const bool cut = sized && native && PMPI_File_get_atomicity(file, &atomic) == MPI_SUCCESS && atomic == 0;
  return {cut, static_cast<std::uint64_t>(std::max<MPI_Count>(size, 1))};
}

class Staged {
 public:
  Staged(Open* open, const Row& row, const Arguments& a, const device::Found& found,
         const client::TypeMap* map)
      : open_(open), row_(row), a_(a), found_(found), map_(map) {}

  // Returns the same as staged().
  bool run(int& result);

 private:
  bool can_be_cut(std::uint64_t etype_bytes) const;
  int in_parts(std::uint64_t etype_bytes);
  int move(FileSide& side);
  int move_with_holes(FileSide& side);
  int join();
  int complete_all();
  bool whole(int& result);
  int failed(int error) const;

  bool writes() const { return row_.direction == Direction::write; }
  bool alone() const { return writes() && open_ != nullptr && writes_alone(*open_, row_); }
  bool collective() const { return row_.coordination == Coordination::collective; }

  Open* open_;
  const Row& row_;
  const Arguments& a_;
  device::Found found_;
  const client::TypeMap* map_;
  std::uint64_t bytes_ = 0;
  std::uint64_t moved_ = 0;
};

int Staged::failed(int error) const {
  client::log("device memory could not be copied, and the transfer failed: " +
              Status::from_errno(error).describe());
  const int value = error == EFAULT ? MPI_ERR_BUFFER : error == ENOMEM ? MPI_ERR_NO_MEM : MPI_ERR_IO;
  if (open_ != nullptr) return raise_class(*open_, value);
  PMPI_File_call_errhandler(a_.file, value);
  return value;
}

bool Staged::can_be_cut(std::uint64_t etype_bytes) const {
  if (map_ == nullptr || !map_->valid() || row_.position == Position::shared) return false;
  return bytes_ % etype_bytes == 0;
}

bool Staged::run(int& result) {
  const bool nonblocking = row_.completion == Completion::nonblocking;
  const bool split = row_.completion == Completion::split_begin;
  // The library's non-blocking calls cannot use memory that Millrace copies from.
  if (nonblocking && (a_.request == nullptr || (collective() && !alone()))) return false;
  if (split && (writes() ? !alone() : open_ == nullptr || open_->guest || open_->reads.reader != nullptr))
    return false;
  if (map_ != nullptr) bytes_ = map_->size * static_cast<std::uint64_t>(a_.count);
  const LibraryView view = view_of(a_.file);
  if (!view.known || !can_be_cut(view.etype_bytes)) return !nonblocking && !split && whole(result);
  result = in_parts(view.etype_bytes);
  return true;
}

int Staged::in_parts(std::uint64_t etype_bytes) {
  const bool joins = collective() && row_.completion != Completion::nonblocking && !alone();
  Row part = row_;
  part.completion = Completion::blocking;
  if (!alone()) part.coordination = Coordination::independent;
  // The library checks the arguments. A collective read needs the ranks' agreement before it reads.
  if (!joins || !writes()) {
    if (const int error = join(); error != MPI_SUCCESS) return error;
  }
  FileSide side(open_, part, a_, etype_bytes);
  int error = map_->contiguous ? move(side) : move_with_holes(side);
  if (joins && writes()) {
    const int joined = join();
    if (error == MPI_SUCCESS) error = joined;
  }
  return error != MPI_SUCCESS ? error : complete_all();
}

// Makes the program's call with no data.
int Staged::join() {
  char nothing = 0;
  MPI_Status status;
  Row row = row_;
  Arguments none = a_;
  none.memory = &nothing;
  none.count = 0;
  none.status = &status;
  if (row.completion != Completion::split_begin || writes()) row.completion = Completion::blocking;
  if (row_.completion == Completion::nonblocking || alone()) row.coordination = Coordination::independent;
  return carry_out(open_, row, none);
}

int Staged::complete_all() {
  const auto moved = static_cast<MPI_Count>(moved_);
  if (row_.completion == Completion::nonblocking) return completed_request(moved, a_.request);
  if (row_.completion == Completion::split_begin) {
    const bool ours = writes() || open_->begun.has_split();
    (void)open_->begun.change({.ours = ours, .staged = !ours, .bytes = moved});
    return MPI_SUCCESS;
  }
  set_status(a_.status, moved);
  return MPI_SUCCESS;
}

int Staged::move(FileSide& side) {
  const staging::HostEnd end = side.end();
  while (moved_ < bytes_ && !side.ended()) {
    auto* at = static_cast<std::byte*>(a_.memory) + moved_;
    const ssize_t now = writes() ? found_.entry->write(found_.device, at, bytes_ - moved_, &end)
                                 : found_.entry->read(found_.device, &end, at, bytes_ - moved_);
    if (side.error() != MPI_SUCCESS) return side.error();
    if (now < 0 || side.torn()) return failed(now < 0 ? static_cast<int>(-now) : EIO);
    if (now == 0) break;
    moved_ += static_cast<std::uint64_t>(now);
  }
  return MPI_SUCCESS;
}

int Staged::move_with_holes(FileSide& side) {
  DeviceMemory memory(found_, *map_, a_.memory, static_cast<std::uint64_t>(a_.count));
  std::vector<std::byte> packed(std::min<std::uint64_t>(bytes_, packed_max));
  while (moved_ < bytes_ && !side.ended()) {
    std::size_t now = std::min<std::uint64_t>(bytes_ - moved_, packed.size());
    if (writes()) {
      if (const int error = memory.gather(packed.data(), now)) return failed(error);
      (void)side.write(packed.data(), now);
    } else {
      now = static_cast<std::size_t>(std::max<ssize_t>(side.read(packed.data(), now), 0));
    }
    if (side.error() != MPI_SUCCESS) return side.error();
    if (!writes()) {
      if (const int error = memory.scatter(packed.data(), now)) return failed(error);
    }
    moved_ += now;
  }
  return MPI_SUCCESS;
}

// Moves the data with one call, by a host copy of the whole hull. False: the hull is too large, or its holes
// cannot be copied.
bool Staged::whole(int& result) {
  MPI_Count lower = 0, span = 0, begin = 0, extent = 0;
  if (PMPI_Type_get_true_extent_x(a_.type, &lower, &span) != MPI_SUCCESS ||
      PMPI_Type_get_extent_x(a_.type, &begin, &extent) != MPI_SUCCESS)
    return false;
  const bool bounded = extent >= 0 && span > 0 && a_.count <= static_cast<MPI_Count>(whole_max) &&
                       (a_.count - 1) <= static_cast<MPI_Count>(whole_max) / std::max<MPI_Count>(extent, 1) &&
                       (a_.count - 1) * extent + span <= static_cast<MPI_Count>(whole_max);
  if (!bounded || (!writes() && (map_ == nullptr || !map_->valid()))) return false;
  std::vector<std::byte> copy(static_cast<std::size_t>((a_.count - 1) * extent + span));
  std::byte* from = static_cast<std::byte*>(a_.memory) + lower;
  if (found_.entry->copy_to_host(found_.device, from, copy.data(), copy.size()) != 0) return false;
  MPI_Status status;
  Arguments host = a_;
  host.memory = copy.data() - lower;
  host.status = &status;
  result = carry_out(open_, row_, host);
  if (result != MPI_SUCCESS) return true;
  if (!writes()) {
    DeviceMemory memory(found_, *map_, a_.memory, static_cast<std::uint64_t>(a_.count));
    client::FileView flat;
    client::PieceSource source(flat, 0, *map_, host.memory, static_cast<std::uint64_t>(a_.count));
    client::Piece piece{};
    for (auto left = std::min(static_cast<std::uint64_t>(bytes_of(status)), bytes_);
         left > 0 && source.next({&piece, 1}) != 0;) {
      const std::uint64_t some = std::min(left, piece.size);
      if (const int error = memory.scatter(static_cast<const std::byte*>(piece.data), some)) {
        result = failed(error);
        return true;
      }
      left -= some;
    }
  }
  if (a_.status != MPI_STATUS_IGNORE) *a_.status = status;
  return true;
}

}  // namespace

bool staged(Open* open, const Row& row, const Arguments& a, int& result) noexcept {
  if (a.count <= 0 || a.offset < 0 || row.completion == Completion::split_end || a.type == MPI_DATATYPE_NULL)
    return false;
  try {
    const client::TypeMap* map = find_map(a.type);
    const bool known = map != nullptr && map->valid();
    const std::uint64_t bytes = known ? map->size * static_cast<std::uint64_t>(a.count) : SIZE_MAX;
    auto* first = static_cast<std::byte*>(a.memory) + (known ? map->true_lower : 0);
    const device::Found found = device::find(first, bytes);
    if (!found || bytes == 0) return false;
    const device::Inside inside;
    return Staged(open, row, a, found, map).run(result);
  } catch (const std::bad_alloc&) {
    result = open != nullptr ? raise(*open, Code::no_memory) : MPI_ERR_NO_MEM;
  } catch (...) {
    result = open != nullptr ? raise(*open, Code::io) : MPI_ERR_OTHER;
  }
  return true;
}

}  // namespace millrace::front
