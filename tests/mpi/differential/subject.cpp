// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "subject.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "front/mpiio/types/datatype.hpp"
#include "implementation.h"

namespace {

// ROMIO of MPICH 5.0 takes the bytes of such a type in memory from the buffer on, though they begin before
// it (ADR 6). Other types of this test it takes from the right place.
bool begins_before_buffer_without_holes(const millrace::client::TypeMap& map) {
  const auto size = static_cast<std::int64_t>(map.size);
  return map.true_lower < 0 && map.extent == size && map.true_upper - map.true_lower == size;
}

// ROMIO takes a file offset behind the upper bound for one in the next element. It then writes to the wrong
// place through an individual pointer that starts there.
bool ends_behind_upper_bound(const millrace::client::TypeMap& map) {
  return map.true_upper > map.lower + map.extent;
}

// A random type that this MPI library places where the standard says: no fault of its own is in the way.
MPI_Datatype sound_type(RandomType& random, bool file, MPI_Count largest) {
  for (int tries = 0; tries < 20; ++tries) {
    MPI_Datatype type = random.make(static_cast<int>(random.range(0, 4)), file, largest);
    const auto* map = millrace::front::find_map(type);
    if (map != nullptr && map->size > 0 && map->extent >= 0 &&
        map->extent <= 8 * static_cast<std::int64_t>(map->size) && (!file || map->lower == 0) &&
        (mpich_major() == 0 ||
         !(file ? ends_behind_upper_bound(*map) : begins_before_buffer_without_holes(*map))))
      return type;
    MPI_Type_free(&type);
  }
  MPI_Datatype type;
  MPI_Type_contiguous(static_cast<int>(random.range(1, 64)), MPI_BYTE, &type);
  MPI_Type_commit(&type);
  return type;
}

}  // namespace

Subject::Subject(MPI_Comm comm, std::string path, Dice& dice, Observer& observer, bool corrupt)
    : comm_(comm), path_(std::move(path)), dice_(dice), observer_(observer), corrupt_(corrupt) {
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &ranks_);
  open(true);
  new_view();
}

Subject::~Subject() {
  if (file_ != MPI_FILE_NULL) close();
}

void Subject::check(const char* what, int error) {
  int error_class = MPI_SUCCESS;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &error_class);
  observer_.note(what, error_class);
}

void Subject::open(bool first) {
  MPI_Info info;
  MPI_Info_create(&info);
  // Data sieving reads and writes back what lies between the pieces: between ranks that is a race in itself.
  MPI_Info_set(info, "romio_ds_write", "disable");
  if (dice_.shared.range(0, 2) == 0) MPI_Info_set(info, "romio_cb_write", "enable");
  if (dice_.shared.range(0, 3) == 0) MPI_Info_set(info, "cb_buffer_size", "65536");
  const int mode = MPI_MODE_RDWR | (first ? MPI_MODE_CREATE : 0);
  const int error = MPI_File_open(comm_, path_.c_str(), mode, info, &file_);
  MPI_Info_free(&info);
  check("open", error);
  if (error != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 3);
}

void Subject::close() {
  check("close", MPI_File_close(&file_));
  MPI_Barrier(comm_);
}

void Subject::settle() {
  check("sync", MPI_File_sync(file_));
  MPI_Barrier(comm_);
  check("sync", MPI_File_sync(file_));
}

void Subject::new_view() {
  observer_.say(path_ + " new view");
  switch (dice_.shared.range(0, 3)) {
    case 0:
      return contiguous_view();
    case 1:
      return block_view();
    default:
      return interleaved_view();
  }
}

// Every rank has a region of its own, by displacement or by the offsets that it uses.
void Subject::contiguous_view() {
  static const MPI_Datatype etypes[] = {MPI_BYTE, MPI_INT, MPI_DOUBLE};
  const MPI_Datatype etype = etypes[dice_.shared.range(0, 2)];
  MPI_Count size = 0;
  MPI_Type_size_x(etype, &size);
  etype_size_ = size;
  span_ = dice_.shared.range(1, 1 << static_cast<int>(dice_.shared.range(4, 15))) * etype_size_;
  const MPI_Offset head = dice_.shared.range(0, 4096);
  const bool by_offset = dice_.shared.range(0, 1) == 0;
  base_ = by_offset ? rank_ * span_ : 0;
  check("set_size", MPI_File_set_size(file_, head + ranks_ * span_));
  check("set_view", MPI_File_set_view(file_, by_offset ? head : head + rank_ * span_, etype, etype, "native",
                                      MPI_INFO_NULL));
}

// Elements of a random type, dealt to the ranks in turn.
void Subject::interleaved_view() {
  MPI_Datatype tile = sound_type(dice_.shared, true, 1 << static_cast<int>(dice_.shared.range(3, 14)));
  MPI_Count size = 0;
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Type_size_x(tile, &size);
  MPI_Type_get_extent(tile, &lower, &extent);
  MPI_Datatype filetype;
  const MPI_Offset head = dice_.shared.range(0, 4096);
  MPI_Offset displacement = head + rank_ * extent;
  if (dice_.shared.range(0, 1) == 0) {
    const int one = 1;
    const MPI_Aint place = rank_ * extent;
    MPI_Datatype moved;
    MPI_Type_create_struct(1, &one, &place, &tile, &moved);
    MPI_Type_create_resized(moved, 0, ranks_ * extent, &filetype);
    MPI_Type_free(&moved);
    displacement = head;
  } else {
    MPI_Type_create_resized(tile, 0, ranks_ * extent, &filetype);
  }
  MPI_Type_commit(&filetype);
  const std::int64_t most = std::max<std::int64_t>(1, (1 << 20) / (ranks_ * extent));
  const std::int64_t tiles = dice_.shared.range(1, std::min<std::int64_t>(most, 200));
  etype_size_ = 1;
  base_ = 0;
  span_ = tiles * size;
  const auto map = millrace::front::share_map(filetype);
  observer_.say("interleaved, " + std::to_string(tiles) + " tiles of " + std::to_string(size) +
                " bytes, extent " + std::to_string(extent) + (map ? ", mapped" : ", not mapped"));
  check("set_size", MPI_File_set_size(file_, head + tiles * ranks_ * extent));
  check("set_view", MPI_File_set_view(file_, displacement, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
  MPI_Type_free(&filetype);
  MPI_Type_free(&tile);
}

// An array cut into blocks, as simulations do: subarray or darray.
void Subject::block_view() {
  static const MPI_Datatype etypes[] = {MPI_BYTE, MPI_INT, MPI_DOUBLE};
  const MPI_Datatype etype = etypes[dice_.shared.range(0, 2)];
  MPI_Count element = 0;
  MPI_Type_size_x(etype, &element);
  const int n = static_cast<int>(dice_.shared.range(1, 4));
  std::array<int, 4> grid{}, sizes{}, parts{}, starts{}, distributions{}, arguments{};
  MPI_Dims_create(ranks_, n, grid.data());
  const bool by_darray = dice_.shared.range(0, 1) == 1;
  MPI_Offset bytes = element;
  int rest = rank_;
  for (int d = n - 1; d >= 0; --d) {
    parts[d] = static_cast<int>(dice_.shared.range(1, n > 2 ? 8 : 40));
    sizes[d] = parts[d] * grid[d];
    starts[d] = parts[d] * (rest % grid[d]);
    rest /= grid[d];
    distributions[d] = dice_.shared.range(0, 1) == 0 ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC;
    arguments[d] = MPI_DISTRIBUTE_DFLT_DARG;
    bytes *= sizes[d];
  }
  const int order = dice_.shared.range(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  MPI_Datatype filetype;
  if (by_darray) {
    MPI_Type_create_darray(ranks_, rank_, n, sizes.data(), distributions.data(), arguments.data(),
                           grid.data(), order, etype, &filetype);
  } else {
    MPI_Type_create_subarray(n, sizes.data(), parts.data(), starts.data(), order, etype, &filetype);
  }
  MPI_Type_commit(&filetype);
  MPI_Count size = 0;
  MPI_Type_size_x(filetype, &size);
  const MPI_Offset head = dice_.shared.range(0, 1000) * element;
  const std::int64_t steps = dice_.shared.range(1, 3);
  etype_size_ = element;
  base_ = 0;
  span_ = steps * size;
  check("set_size", MPI_File_set_size(file_, head + steps * bytes));
  check("set_view", MPI_File_set_view(file_, head, etype, filetype, "native", MPI_INFO_NULL));
  MPI_Type_free(&filetype);
}

void Subject::step() {
  const std::int64_t what = dice_.shared.range(0, 19);
  if (what < 12) return transfers();
  if (what < 13) return pair_of_requests();
  if (what < 14) return ask();
  if (what < 15) return seek_somewhere();
  settle();
  if (what < 16) return ordered();
  if (what < 17) return resize();
  if (what < 18) {
    close();
    open(false);
  }
  new_view();
}

// All ranks make the same number of calls of one kind: the collective ones need that.
void Subject::transfers() {
  const auto kind = static_cast<Kind>(dice_.shared.range(0, static_cast<int>(Kind::count) - 1));
  const std::int64_t calls = dice_.shared.range(1, 6);
  const bool collective_write = dice_.shared.range(0, 2) != 0;
  const bool collective = kind == Kind::at_all || kind == Kind::individual_all || kind == Kind::iat_all ||
                          kind == Kind::iindividual_all || kind == Kind::at_split ||
                          kind == Kind::individual_split;
  for (std::int64_t i = 0; i < calls; ++i)
    transfer(collective ? collective_write : dice_.own.range(0, 2) != 0, kind);
  if (collective_write && collective) transfer(false, kind);  // a process reads what it wrote
}

Subject::Memory Subject::make_memory(bool write) {
  Memory memory;
  const MPI_Count most = dice_.own.range(0, 9) == 0 ? 0 : span_;
  const int major = mpich_major();
  const bool ascending = major > 0 && major < 5;  // ROMIO of MPICH 4.0 writes beyond the memory of others
  memory.type = dice_.own.range(0, 2) == 0 ? sound_type(dice_.own, ascending, 2048) : MPI_DATATYPE_NULL;
  if (memory.type == MPI_DATATYPE_NULL) MPI_Type_dup(etype_size_ == 8 ? MPI_DOUBLE : MPI_BYTE, &memory.type);
  MPI_Count size = 0;
  MPI_Type_size_x(memory.type, &size);
  if (size % etype_size_ != 0) {  // every transfer must be of whole etypes
    MPI_Type_free(&memory.type);
    MPI_Type_contiguous(static_cast<int>(etype_size_), MPI_BYTE, &memory.type);
    MPI_Type_commit(&memory.type);
    size = etype_size_;
  }
  const std::int64_t fit = std::min<std::int64_t>(most, 400 << 10) / size;
  std::int64_t count = fit == 0 ? 0 : dice_.own.range(0, fit);
  if (dice_.own.range(0, 1) == 0) count = std::min<std::int64_t>(count, dice_.own.range(0, 64));
  memory.count = static_cast<int>(count);
  memory.size = size * count;
  MPI_Aint lower = 0, extent = 0, begin = 0, length = 0;
  MPI_Type_get_extent(memory.type, &lower, &extent);
  MPI_Type_get_true_extent(memory.type, &begin, &length);
  const std::int64_t tail = extent * std::max<std::int64_t>(count - 1, 0);
  memory.origin = static_cast<std::size_t>(std::max<std::int64_t>(0, -begin));
  memory.bytes.resize(memory.origin +
                      static_cast<std::size_t>(std::max<std::int64_t>(0, begin) + length + tail));
  const auto key = static_cast<std::uint64_t>(dice_.own.range(0, 1 << 30));
  for (std::size_t i = 0; i < memory.bytes.size(); ++i)
    memory.bytes[i] = static_cast<unsigned char>(write ? ((i + key) * 0x9e3779b97f4a7c15ull) >> 56 : 0xee);
  if (write && corrupt_ && memory.size > 0) {
    for (unsigned char& byte : memory.bytes) byte ^= 1;
    corrupt_ = false;
  }
  return memory;
}

MPI_Offset Subject::fitting_offset(MPI_Count bytes) {
  return (base_ / etype_size_) + dice_.own.range(0, (span_ - bytes) / etype_size_);
}

void Subject::release(Memory& memory) { MPI_Type_free(&memory.type); }

void Subject::note_status(MPI_Status& status, const Memory& memory) {
  if (memory.size == 0) return;  // libraries differ in what they leave in the status
  int count = -1;
  MPI_Get_count(&status, memory.type, &count);
  observer_.note("count", count);
}

void Subject::transfer(bool write, Kind kind) {
  Memory memory = make_memory(write);
  // Intel MPI takes other bytes of memory types with holes, or fails at none. ROMIO's locks: see on_nfs().
  if (mpich_major() == 1 || (mpich_major() > 1 && memory.size == 0 && on_nfs(path_))) {
    MPI_Type_free(&memory.type);
    MPI_Type_dup(MPI_BYTE, &memory.type);
    memory.count = static_cast<int>(memory.size);
    memory.origin = 0;
  }
  const MPI_Offset offset = fitting_offset(memory.size);
  observer_.say(path_ + (write ? " write kind " : " read kind ") + std::to_string(static_cast<int>(kind)) +
                " etype " + std::to_string(offset) + " bytes " + std::to_string(memory.size));
  const bool positioned = kind == Kind::individual || kind == Kind::individual_all ||
                          kind == Kind::iindividual || kind == Kind::iindividual_all ||
                          kind == Kind::individual_split;
  if (positioned) check("seek", MPI_File_seek(file_, offset, MPI_SEEK_SET));
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  check("transfer", start(write, kind, offset, memory, &status, &request));
  if (kind == Kind::at_split || kind == Kind::individual_split) {
    check("end", finish_split(write, kind, memory, &status));
  } else if (request != MPI_REQUEST_NULL) {
    check("wait", MPI_Wait(&request, &status));
  }
  note_status(status, memory);
  if (positioned) note_position();
  observer_.bytes(write ? "written" : "read", memory.bytes.data(), write ? 0 : memory.bytes.size());
  release(memory);
}

int Subject::start(bool write, Kind kind, MPI_Offset offset, Memory& m, MPI_Status* s, MPI_Request* r) {
#if MPI_VERSION >= 4
  if (dice_.shared.range(0, 2) == 0) {  // the same calls with large counts
    if (kind == Kind::at)
      return write ? MPI_File_write_at_c(file_, offset, m.buffer(), m.count, m.type, s)
                   : MPI_File_read_at_c(file_, offset, m.buffer(), m.count, m.type, s);
    if (kind == Kind::individual_all)
      return write ? MPI_File_write_all_c(file_, m.buffer(), m.count, m.type, s)
                   : MPI_File_read_all_c(file_, m.buffer(), m.count, m.type, s);
    if (kind == Kind::iindividual)
      return write ? MPI_File_iwrite_c(file_, m.buffer(), m.count, m.type, r)
                   : MPI_File_iread_c(file_, m.buffer(), m.count, m.type, r);
  }
#endif
  switch (kind) {
    case Kind::at:
      return write ? MPI_File_write_at(file_, offset, m.buffer(), m.count, m.type, s)
                   : MPI_File_read_at(file_, offset, m.buffer(), m.count, m.type, s);
    case Kind::at_all:
      return write ? MPI_File_write_at_all(file_, offset, m.buffer(), m.count, m.type, s)
                   : MPI_File_read_at_all(file_, offset, m.buffer(), m.count, m.type, s);
    case Kind::individual:
      return write ? MPI_File_write(file_, m.buffer(), m.count, m.type, s)
                   : MPI_File_read(file_, m.buffer(), m.count, m.type, s);
    case Kind::individual_all:
      return write ? MPI_File_write_all(file_, m.buffer(), m.count, m.type, s)
                   : MPI_File_read_all(file_, m.buffer(), m.count, m.type, s);
    case Kind::iat:
      return write ? MPI_File_iwrite_at(file_, offset, m.buffer(), m.count, m.type, r)
                   : MPI_File_iread_at(file_, offset, m.buffer(), m.count, m.type, r);
    case Kind::iindividual:
      return write ? MPI_File_iwrite(file_, m.buffer(), m.count, m.type, r)
                   : MPI_File_iread(file_, m.buffer(), m.count, m.type, r);
    case Kind::iat_all:
      return write ? MPI_File_iwrite_at_all(file_, offset, m.buffer(), m.count, m.type, r)
                   : MPI_File_iread_at_all(file_, offset, m.buffer(), m.count, m.type, r);
    case Kind::iindividual_all:
      return write ? MPI_File_iwrite_all(file_, m.buffer(), m.count, m.type, r)
                   : MPI_File_iread_all(file_, m.buffer(), m.count, m.type, r);
    case Kind::at_split:
      return write ? MPI_File_write_at_all_begin(file_, offset, m.buffer(), m.count, m.type)
                   : MPI_File_read_at_all_begin(file_, offset, m.buffer(), m.count, m.type);
    case Kind::individual_split:
    case Kind::count:
      break;
  }
  return write ? MPI_File_write_all_begin(file_, m.buffer(), m.count, m.type)
               : MPI_File_read_all_begin(file_, m.buffer(), m.count, m.type);
}

int Subject::finish_split(bool write, Kind kind, Memory& m, MPI_Status* s) {
  if (kind == Kind::at_split)
    return write ? MPI_File_write_at_all_end(file_, m.buffer(), s)
                 : MPI_File_read_at_all_end(file_, m.buffer(), s);
  return write ? MPI_File_write_all_end(file_, m.buffer(), s) : MPI_File_read_all_end(file_, m.buffer(), s);
}

// Two writes at once that do not meet, then both are read back.
void Subject::pair_of_requests() {
  const MPI_Offset half = span_ / etype_size_ / 2;
  const auto length = static_cast<int>(std::min<MPI_Offset>(half * etype_size_, 1 << 16));
  std::array<std::vector<unsigned char>, 2> data;
  std::array<MPI_Request, 2> requests;
  for (int i = 0; i < 2; ++i) {
    data[i].assign(static_cast<std::size_t>(length), static_cast<unsigned char>(dice_.own.range(0, 255)));
    check("iwrite_at",
          MPI_File_iwrite_at(file_, base_ / etype_size_ + i * half, data[i].data(),
                             length / static_cast<int>(etype_size_) * static_cast<int>(etype_size_), MPI_BYTE,
                             &requests[i]));
    // Open MPI's end of one unlocks the file for both.
    if (mpich_major() == 0 && on_nfs(path_)) check("wait", MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
  }
  check("waitall", MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2; ++i) {
    check("read_at", MPI_File_read_at(file_, base_ / etype_size_ + i * half, data[i].data(),
                                      length / static_cast<int>(etype_size_) * static_cast<int>(etype_size_),
                                      MPI_BYTE, MPI_STATUS_IGNORE));
    observer_.bytes("pair", data[i].data(), data[i].size());
  }
}

// Smaller, then as large as before: the bytes behind the cut are zero.
