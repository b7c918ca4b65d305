// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The file server reads the file in large blocks, and gives each block to all lists that want bytes of it.
#include <algorithm>
#include <list>
#include <map>
#include <utility>

#include "agent/requests/reads.hpp"
#include "transport/want_list.hpp"

namespace millrace::agent {

namespace {

constexpr std::uint64_t block_bytes = 1 * MiB;
// Wanted bytes that lie closer together are read at once. The kernel copies so many cached bytes in the time
// of a few system calls, and a disk takes no longer for them than for another request.
constexpr std::uint64_t gap_bytes = 64 * KiB;
// One block is handed out while the next ones are read.
constexpr std::size_t in_flight_max = 4;

class FileReads final : public Reads {
 public:
  FileReads(Shared& shared, io::Handle file)
      : storage_(shared.storage), budget_(shared.budget), owner_(shared.next_owner++), file_(file) {}
  ~FileReads() override {
    budget_.has_read(blocks_.size());
    storage_.release(file_);
  }
  FileReads(const FileReads&) = delete;
  FileReads& operator=(const FileReads&) = delete;

  void begin(WaiterId waiter, ReadList list) override {
    readers_.push_back({waiter, std::move(list), ++clock_});
  }
  void abandon(SenderId sender) override {
    for (Reader& reader : readers_) reader.gone |= reader.list.sender() == sender;
  }
  bool pass(ReadTaker& to) override;
  void complete(const io::Completion& completion) override;
  bool in_flight() const override { return in_flight_ > 0; }
  bool empty() const override { return readers_.empty(); }

 private:
  // A block is not for lists that have begun after it was read: the file may have changed in between.
  struct ReadBlock {
    Extent extent;
    std::uint64_t read;  // by the clock that counts lists
    std::uint32_t number;
    bool done = false;
    Status status = {};
    std::uint64_t moved = 0;
    std::vector<std::byte> bytes;
  };

  ReadBlock* block_of(const Reader& reader);
  void tell_size(Reader& reader, ReadTaker& to);
  bool serve(Reader& reader, ReadTaker& to);
  Extent block_from(std::uint64_t begin) const;
  bool make_room();
  bool read_next(const ReadTaker& to);
  void submit(Extent extent);

  io::Storage& storage_;
  Budget& budget_;
  std::uint32_t owner_;
  io::Handle file_;
  std::list<Reader> readers_;
  std::list<ReadBlock> blocks_;  // the oldest first
  std::uint64_t clock_ = 0;
  std::uint32_t next_number_ = 1;
  std::size_t in_flight_ = 0;
};

FileReads::ReadBlock* FileReads::block_of(const Reader& reader) {
  const std::uint64_t next = reader.list.next();
  const auto found = std::ranges::find_if(blocks_, [&](const ReadBlock& block) {
    return block.read >= reader.begun && next >= block.extent.begin && next < block.extent.end;
  });
  return found != blocks_.end() ? &*found : nullptr;
}

void FileReads::tell_size(Reader& reader, ReadTaker& to) {
  const Result<std::uint64_t> size = storage_.size(file_);
  reader.status = size.status();
  if (!size) return;
  const LoadedPart all{transport::size_place, reinterpret_cast<const std::byte*>(&*size)};
  hand_out(reader, std::span(&all, 1), to);
}

// True if anything moved.
bool FileReads::serve(Reader& reader, ReadTaker& to) {
  bool moved = false;
  while (!reader.over() && to.has_room(reader.list.sender())) {
    if (reader.list.next() >= transport::size_place.begin) {
      tell_size(reader, to);
      return true;
    }
    const ReadBlock* const block = block_of(reader);
    if (block == nullptr || !block->done) break;
    moved = true;
    const Extent there{block->extent.begin, block->extent.begin + block->moved};
    if (!block->status.ok()) {
      reader.status = block->status;
    } else if (reader.list.next() >= there.end) {
      reader.status = Code::io;  // the file ends before the list does
    } else {
      const LoadedPart all{there, block->bytes.data()};
      hand_out(reader, std::span(&all, 1), to);
    }
  }
  return moved;
}

// The extent of the block that begins here: as far as some list goes on without a large gap.
Extent FileReads::block_from(std::uint64_t begin) const {
  const std::uint64_t most = begin + block_bytes;
  std::uint64_t end = begin + 1;
  for (bool grows = true; grows;) {
    grows = false;
    for (const Reader& reader : readers_) {
      if (reader.over()) continue;
      reader.list.each_below(most, [&](Extent piece) {
        if (piece.begin > end + gap_bytes) return false;
        grows |= piece.end > end;
        end = std::max(end, piece.end);
        return end < most;
      });
    }
    grows = grows && end < most;
  }
  return {begin, std::min(end, most)};
}

// A list whose block gives way reads it again, from the page cache. So no list waits for another one.
bool FileReads::make_room() {
  if (budget_.grants_read(blocks_.size())) return true;
  const auto oldest = std::ranges::find(blocks_, true, &ReadBlock::done);
  if (oldest == blocks_.end()) return false;
  blocks_.erase(oldest);
  budget_.has_read(1);
  return true;
}

// Begins to read for the list that is first in the file and can be served. False if there is none.
bool FileReads::read_next(const ReadTaker& to) {
  if (in_flight_ >= in_flight_max) return false;
  const Reader* first = nullptr;
  for (const Reader& reader : readers_) {
    if (reader.over() || !to.has_room(reader.list.sender()) || block_of(reader) != nullptr) continue;
    if (first == nullptr || reader.list.next() < first->list.next()) first = &reader;
  }
  if (first == nullptr || !make_room()) return false;
  submit(block_from(first->list.next()));
  return true;
}

void FileReads::submit(Extent extent) {
  budget_.starts_to_read();
  blocks_.push_back({extent, clock_, next_number_++, false, {}, 0, std::vector<std::byte>(extent.size())});
  ReadBlock& block = blocks_.back();
  io::Request request{io::Op::read, file_, extent.begin, 0, {}, std::uint64_t{owner_} << 32 | block.number};
  request.data.push_back({block.bytes.data(), block.bytes.size()});
  ++in_flight_;
  storage_.submit(std::move(request));
}

void FileReads::complete(const io::Completion& completion) {
  if (sink::owner_of(completion.token) != owner_) return;
  const auto number = static_cast<std::uint32_t>(completion.token);
  const auto block = std::ranges::find(blocks_, number, &ReadBlock::number);
  if (block == blocks_.end() || block->done) return;
  block->done = true;
  block->status = completion.status;
  block->moved = completion.bytes;
  ++counters_.requests;
  counters_.bytes_in += completion.bytes;
  --in_flight_;
}

bool FileReads::pass(ReadTaker& to) {
  bool moved = false;
  for (auto reader = readers_.begin(); reader != readers_.end();) {
    moved |= serve(*reader, to);
    if (!reader->over()) {
      ++reader;
      continue;
    }
    end(*reader);
    reader = readers_.erase(reader);
    moved = true;
  }
  while (read_next(to)) moved = true;
  if (readers_.empty() && in_flight_ == 0) {
    budget_.has_read(blocks_.size());
    blocks_.clear();
  }
  return moved;
}

}  // namespace

Result<std::unique_ptr<Reads>> Reads::of_file(Shared& shared, Fd target) {
  const Result<io::Handle> handle = shared.storage.adopt(std::move(target), false);
  if (!handle) return handle.status();
  return std::unique_ptr<Reads>(std::make_unique<FileReads>(shared, *handle));
}

}  // namespace millrace::agent
