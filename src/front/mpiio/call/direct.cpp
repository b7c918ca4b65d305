// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/call/direct.hpp"

#include <algorithm>
#include <vector>

#include "front/mpiio/call/completion.hpp"
#include "front/mpiio/call/library.hpp"

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
    const std::uint64_t etype = open_.view.etype_size();
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

int write_pieces(Open& open, const Arguments& a, const Target& target) {
  client::PieceSource source(open.view, target.position, *target.memory, a.memory,
                             static_cast<std::uint64_t>(a.count));
  Pieces pieces(open, target.position);
  std::array<client::Piece, client::pieces_per_batch> batch;
  while (const std::size_t n = source.next(batch)) {
    for (std::size_t i = 0; i < n; ++i) {
      const int error = pieces.take(batch[i]);
      if (error != MPI_SUCCESS) return error;
    }
  }
  return pieces.drain();
}

// False: sieving is not possible for this file. Nothing was written.
bool sieve(Open& open, const Arguments& a, const Target& target, Status& status) {
  client::PieceSource source(open.view, target.position, *target.memory, a.memory,
                             static_cast<std::uint64_t>(a.count));
  return open.file->sieve(source, open.sweep, status);
}

// Moves the individual pointer past the write, because the library was called with explicit offsets.
void step(Open& open, const Target& target) {
  const std::lock_guard guard(open.pointer_lock);
  open.position = static_cast<MPI_Offset>((target.position + target.bytes) / open.view.etype_size());
  open.holder = Open::Holder::ours;
}

}  // namespace

bool writes_under_lock(const Open& open, const Target& target) {
  return open.sweep.window != 0 && (!target.one_piece || target.bytes <= open.sweep.gap);
}

int write_direct(Open& open, const Row& row, const Arguments& a, const Target* target) {
  const Status flushed = target != nullptr ? open.file->prepare_direct_write(target->hull)
                                           : open.file->prepare_direct_write(everything);
  if (!flushed.ok()) return raise(open, flushed);
  Status sieved;
  const bool done = target != nullptr && writes_under_lock(open, *target) && sieve(open, a, *target, sieved);
  if (!sieved.ok()) return raise(open, sieved);
  if (done || (target != nullptr && !target->one_piece)) {
    const int error = done ? MPI_SUCCESS : write_pieces(open, a, *target);
    if (error != MPI_SUCCESS) return error;
    open.file->note_direct_write(target->hull);
    if (row.position == Position::individual) step(open, *target);
    return complete(open, row, a, target->bytes);
  }
  MPI_Status status;
  const bool split = row.completion == Completion::split_begin;
  if (row.position != Position::at) hand_over(open);
  const int error = call_alone(row, a, split ? &status : a.status);
  if (error != MPI_SUCCESS) return error;
  if (target != nullptr) open.file->note_direct_write(target->hull);
  if (!split) return MPI_SUCCESS;
  MPI_Count bytes = 0;
  PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
  return begin_split(open, bytes);
}

}  // namespace millrace::front
