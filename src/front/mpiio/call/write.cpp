// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/call/write.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "client/file/own_pieces.hpp"
#include "front/mpiio/call/completion.hpp"
#include "front/mpiio/call/library.hpp"
#include "front/mpiio/call/way.hpp"
#include "front/mpiio/open/open_first.hpp"
#include "front/mpiio/types/datatype.hpp"
#include "front/mpiio/types/linear.hpp"

namespace millrace::front {
namespace {

constexpr std::uint64_t staging_bytes = 1024 * 1024;

// Writes one contiguous range of the view's data through the library, with one call for each piece of the
// file.
//
// In a larger call the library may sieve (open/sieving.hpp), which is not safe everywhere.
class Pieces {
 public:
  Pieces(Open& open, std::uint64_t position) : open_(open), at_(position) {}

  int take(const client::Piece& piece) {
    int error = MPI_SUCCESS;
    if (!staged_.empty() && piece.offset != end_) error = drain();
    const auto* data = static_cast<const std::byte*>(piece.data);
    std::uint64_t left = piece.size;
    while (left != 0 && error == MPI_SUCCESS) {
      const std::uint64_t now = std::min(left, staging_bytes - staged_.size() % staging_bytes);
      staged_.insert(staged_.end(), data, data + now);
      data += now;
      left -= now;
      if (staged_.size() >= staging_bytes) error = drain();
    }
    end_ = piece.offset + piece.size;
    return error;
  }

  // Writes the staged bytes, up to the last whole etype.
  int drain() {
    const std::uint64_t etype = open_.view.map.etype_size();
    const std::uint64_t size = staged_.size() - staged_.size() % etype;
    if (size == 0) return MPI_SUCCESS;
    const int error = call<Slot::MPI_File_write_at>(
        Entry::pmpi, open_.handle, static_cast<MPI_Offset>(at_ / etype),
        static_cast<const void*>(staged_.data()), static_cast<int>(size), MPI_BYTE, MPI_STATUS_IGNORE);
    at_ += size;
    staged_.erase(staged_.begin(), staged_.begin() + static_cast<std::ptrdiff_t>(size));
    return error;
  }

 private:
  Open& open_;
  std::uint64_t at_;       // position of the first staged byte
  std::uint64_t end_ = 0;  // offset in the file after the last staged byte
  std::vector<std::byte> staged_;
};

int write_pieces(const Call& call) {
  client::PieceSource source = call.pieces();
  Pieces pieces(call.open, call.position);
  std::array<client::Piece, client::pieces_per_batch> batch;
  while (const std::size_t n = source.next(batch)) {
    for (std::size_t i = 0; i < n; ++i) {
      const int error = pieces.take(batch[i]);
      if (error != MPI_SUCCESS) return error;
    }
  }
  return pieces.drain();
}

// Data sieving of another rank rewrites holes of up to sweep.gap bytes. ROMIO writes a single piece without a
// lock. So a piece that fits into such a hole is written by Millrace, under a lock, or while nobody sieves.
bool fits_into_hole(const Call& call) {
  const client::SieveBounds& sweep = call.open.sweep;
  return call.one_piece && sweep.window != 0 && call.bytes <= sweep.gap;
}

// While it lives and is held(), no process sieves. Not for collective calls: other ranks may have to sieve.
class Unsieved {
 public:
  explicit Unsieved(const Call& call) : own_(call.open.file->own_pieces()) {
    if (own_ == nullptr) return;
    const bool alone = call.row.coordination == Coordination::independent;
    if (!alone) own_->let_sieve();
    held_ = alone && call.row.completion == Completion::blocking && fits_into_hole(call) &&
            own_->begin_unlocked();
  }
  ~Unsieved() {
    if (held_) own_->end_unlocked();
  }
  Unsieved(const Unsieved&) = delete;
  Unsieved& operator=(const Unsieved&) = delete;

  bool held() const { return held_; }

 private:
  client::OwnPieces* const own_;
  bool held_ = false;
};

// Measures the time that the MPI library takes in a call on a file.
class Timed {
 public:
  explicit Timed(client::File& file) : file_(file), start_(file.start_timing()) {}
  ~Timed() {
    if (start_ != 0) file_.stop_timing(start_);
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  client::File& file_;
  std::uint64_t start_;
};

// The bytes have a place of their own before they are written: another thread may use the individual pointer.
int write_own_pieces(Call& call) {
  Open& open = call.open;
  if (const int error = examine(call); error != MPI_SUCCESS) return error;
  call.reserve();
  Status status = call.settle(call.hull);
  client::PieceSource source = call.pieces();
  client::OwnPieces* const own = open.sweep.window != 0 ? open.file->own_pieces() : nullptr;
  const bool done = status.ok() && own != nullptr && own->write(source, open.sweep, status);
  const int error = done || !status.ok() ? MPI_SUCCESS : write_pieces(call);
  if (!status.ok() || error != MPI_SUCCESS) {
    call.give_back();
    return error != MPI_SUCCESS ? error : raise(open, status);
  }
  open.file->note_direct_write(call.hull);
  return call.complete(call.bytes);
}

Status append(const Call& call) {
  if (call.memory->contiguous && call.one_piece) {
    const client::Piece piece{call.hull.begin, call.a.memory, call.bytes};
    return call.open.file->write({&piece, 1});
  }
  client::PieceSource source = call.pieces();
  return client::for_each_batch(
      source, [&](std::span<const client::Piece> pieces) { return call.open.file->write(pieces); });
}

}  // namespace

bool enters_pipeline(const Call& call) {
  Open& open = call.open;
  const std::uint64_t pieces = call.estimate_pieces();
  const bool sieved = open.sweep.window != 0 && !call.one_piece;
  return open.file->enter_pipeline(
      {.bytes = call.bytes,
       .pieces = pieces,
       .calls = call.one_piece ? 1 : pieces,
       .swept = sieved ? open.view.map.estimate_swept(call.position, call.bytes, open.sweep) : 0,
       .nonblocking = call.nonblocking(),
       .goes_on = call.a.goes_on,
       .hull = call.hull,
       .met = open.view.takes_meeting() && call.row.coordination == Coordination::independent});
}

int by_pipeline(Call& call) {
  if (const int error = examine(call); error != MPI_SUCCESS) return error;
  call.reserve();
  const Status status = append(call);
  return status.ok() ? call.complete(call.bytes) : raise(call.open, status);
}

int past_pipeline(Call& call) {
  Open& open = call.open;
  const Timed timed(*open.file);
  const Unsieved unsieved(call);
  const bool sieves = !call.one_piece && open.library_sieves;
  if (sieves || (fits_into_hole(call) && !unsieved.held())) return write_own_pieces(call);
  const int error = by_library_alone(call);
  if (error == MPI_SUCCESS) open.file->note_direct_write(call.hull);
  return error;
}

int write_nothing(Call& call) {
  const int error = examine(call);
  return error != MPI_SUCCESS ? error : call.complete(0);
}

int write_unmeasured(Call& call) {
  Open& open = call.open;
  if (open.first.location == Open::Location::elsewhere)
    return not_on_first(open, "writing with these arguments or this view");
  return by_library_alone(call);
}

int write_in_order(Call& call) {
  Open& open = call.open;
  const Arguments& a = call.a;
  const bool elsewhere = open.first.location == Open::Location::elsewhere;
  if ((open.view.map.filetype().contiguous && !elsewhere) || a.count <= 0 || a.offset < 0 ||
      a.type == MPI_DATATYPE_NULL || (call.nonblocking() && a.request == nullptr))
    return write_unmeasured(call);
  MPI_Count data = 0;
  if (PMPI_Type_size_x(a.type, &data) != MPI_SUCCESS || data <= 0) return write_unmeasured(call);
  const auto size = static_cast<std::uint64_t>(data);
  if (size % open.view.map.etype_size() != 0) return write_unmeasured(call);
  Linear linear(a.memory, a.type, a.count, size);
  Row now = call.row;
  now.completion = Completion::blocking;
  Arguments bytes = a;
  bytes.type = MPI_BYTE;
  bytes.map = find_map(MPI_BYTE);
  bytes.status = MPI_STATUS_IGNORE;
  bool begun = false;
  while (linear.next()) {
    bytes.goes_on = std::exchange(begun, true);
    bytes.memory = const_cast<std::byte*>(linear.bytes().data());
    bytes.count = static_cast<MPI_Count>(linear.bytes().size());
    const int error = carry_out(&open, now, bytes);
    if (error != MPI_SUCCESS) return error;
    bytes.offset += bytes.count / static_cast<MPI_Offset>(open.view.map.etype_size());
  }
  if (linear.failed()) return begun ? raise(open, Code::io) : write_unmeasured(call);
  return call.complete(static_cast<std::uint64_t>(a.count) * size);
}

}  // namespace millrace::front
