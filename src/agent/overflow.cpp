// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/overflow.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "agent/cover.hpp"
#include "io/posix/descriptor.hpp"
#include "io/posix/unnamed.hpp"

namespace millrace::agent {

namespace {

constexpr std::uint32_t none = UINT32_MAX;
constexpr std::uint64_t segment_bytes_max = 1 * MiB;  // a segment ends with the record that reaches this
constexpr std::uint32_t segments_max = 128 * 1024;    // 3 MiB
constexpr std::uint64_t space_step_bytes = 4 * MiB;   // asked for once in so much; what the writer may hold
constexpr std::uint64_t renew_bytes = 256 * MiB;      // an empty journal above this begins anew
constexpr std::uint64_t plenty_bytes = 256 * MiB;     // beyond what is needed: no doubt that it is there

}  // namespace

// A piece of the journal that is in memory.
class Overflow::Window final : public journal::Source {
 public:
  Window(std::uint64_t position, std::span<const std::byte> bytes) : position_(position), bytes_(bytes) {}
  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) override {
    if (offset < position_ || offset > position_ + bytes_.size()) return std::size_t{0};
    const auto rest = bytes_.subspan(offset - position_);
    const std::size_t size = std::min(rest.size(), into.size());
    std::memcpy(into.data(), rest.data(), size);
    return size;
  }

 private:
  std::uint64_t position_;
  std::span<const std::byte> bytes_;
};

Overflow::~Overflow() {
  if (read_open_) storage_.release(read_handle_);
}

// An empty journal that has grown large makes way for a new one. On a disk that is nearly full it begins anew
// in its file: what a file frees is not there at once, although it is counted.
Status Overflow::prepare() {
  if (unavailable_) return Code::unsupported;
  if (writer_ && (!empty() || (writer_->file_bytes() < renew_bytes && has_space()))) return {};
  if (writer_ && !writer_->idle()) return has_space() ? Status() : Status(Code::no_space);
  Fd again = writer_ && !has_space() ? std::move(space_) : Fd();
  if (read_open_) storage_.release(read_handle_);
  read_open_ = false;
  writer_.reset();
  space_.reset();
  return fail(create(std::move(again)));
}

Status Overflow::fail(Status status) {
  if (status.ok()) return status;
  unavailable_ = true;
  const std::string why = status.code() == Code::no_space ? "too little room" : status.describe();
  problem_ = "no journal in " + directory_ + ": " + why;
  return status;
}

// True while the disk takes the next bytes, what is in memory now (twice: headers of small records) and
// what the writer holds.
bool Overflow::has_space() {
  const std::uint64_t size = writer_ ? writer_->file_bytes() : 0;
  if (size < space_until_) return true;
  const std::uint64_t needed = 2 * buffer_.pool().capacity_bytes() + 2 * space_step_bytes;
  const Result<std::uint64_t> left = io::free_bytes(space_);
  // What is counted as free is not always to be had: file systems keep some for what they expect.
  if (left.ok() && *left < needed + plenty_bytes) {
    const Status reserved = io::reserve(space_, size, needed);
    if (reserved.code() == Code::unsupported ? *left < needed : !reserved.ok()) return false;
  }
  space_until_ = size + space_step_bytes;
  return true;
}

Status Overflow::create(Fd again) {
  Result<Fd> file = again.valid() ? Result<Fd>(std::move(again)) : io::create_unnamed(directory_.c_str());
  if (!file) return file.status();
  Result<Fd> second = io::duplicate(*file);
  if (!second) return second.status();
  Result<Fd> third = io::duplicate(*file);
  if (!third) return third.status();
  space_ = *std::move(third);
  space_until_ = 0;
  if (!has_space()) return Code::no_space;
  const std::uint32_t owner = next_owner_++;
  auto writer = journal::JournalWriter::create(storage_, *std::move(file), owner, {});
  if (!writer) return writer.status();
  const Result<io::Handle> handle = storage_.adopt(*std::move(second), false);
  if (!handle) return handle.status();
  writer_ = *std::move(writer);
  write_owner_ = owner;
  read_owner_ = next_owner_++;
  read_handle_ = *handle;
  read_open_ = true;
  header_known_ = false;
  return {};
}

// --- storing ---

bool Overflow::full() { return live_segments_ >= segments_max || (!empty() && !has_space()); }

std::uint32_t Overflow::new_segment() {
  ++live_segments_;
  if (free_segment_ == none) {
    segments_.emplace_back();
    return static_cast<std::uint32_t>(segments_.size() - 1);
  }
  return std::exchange(free_segment_, segments_[free_segment_].older);
}

void Overflow::begin_segment(Stored& stored) {
  const std::uint32_t id = new_segment();
  segments_[id] = {writer_->file_bytes(), writer_->records(), 0, stored.newest};
  stored.newest = id;
}

bool Overflow::store(const Chunk& chunk, std::uint32_t& slot, std::uint32_t& byte) {
  const BlockPool& pool = buffer_.pool();
  Stored& stored = chunks_[chunk.index];
  if (storing_ != chunk.index) {
    storing_ = chunk.index;
    begin_segment(stored);
  }
  for (; slot < pool.slots(); ++slot, byte = 0) {
    const std::uint32_t block = chunk.slots[slot];
    if (block == LazyPool::none) continue;
    const std::uint64_t place =
        (chunk.index << pool.chunk_shift()) + (std::uint64_t{slot} << pool.block_shift());
    for (;;) {
      const cover::Range run = cover::next_run(pool, block, byte, buffer_.merge());
      if (run.begin == run.end) break;
      if (!writer_->ready()) return false;
      if (segments_[stored.newest].bytes >= segment_bytes_max) begin_segment(stored);
      writer_->append(place + run.begin, {pool.data(block) + run.begin, run.end - run.begin});
      Segment& segment = segments_[stored.newest];
      segment.bytes = static_cast<std::uint32_t>(writer_->file_bytes() - segment.position);
      byte = run.end;
    }
  }
  storing_ = no_chunk;
  return true;
}

// --- loading ---

void Overflow::want(Extent extent) {
  if (extent.empty()) return;
  const std::uint32_t shift = buffer_.pool().chunk_shift();
  for (auto place = chunks_.lower_bound(extent.begin >> shift);
       place != chunks_.end() && place->first <= (extent.end - 1) >> shift; ++place) {
    if (!place->second.wanted) ++wanted_;
    place->second.wanted = true;
  }
}

std::uint32_t Overflow::watch(Extent extent, WaiterId waiter) {
  if (extent.empty()) return 0;
  std::uint32_t count = 0;
  const std::uint32_t shift = buffer_.pool().chunk_shift();
  for (auto place = chunks_.lower_bound(extent.begin >> shift);
       place != chunks_.end() && place->first <= (extent.end - 1) >> shift; ++place) {
    if (!place->second.wanted) continue;
    place->second.waiters.push_back(waiter);
    ++count;
  }
  return count;
}

// For one chunk that is made of nothing in memory yet, in the worst shape.
bool Overflow::has_room(std::uint32_t blocks) const {
  const BlockPool& pool = buffer_.pool();
  return pool.blocks.available() >= blocks && pool.fine_maps.available() >= pool.slots() &&
         pool.chunks.available() >= 1;
}

std::uint32_t Overflow::blocks_due() const {
  return loading_ == no_chunk ? 0 : buffer_.pool().slots() - buffer_.blocks_of(loading_);
}

void Overflow::read_segment() {
  const bool header = !header_known_;
  const Segment segment =
      header ? Segment{0, 0, sizeof(journal::FileHeader), none} : segments_[next_segment_];
  read_buffer_.resize(segment.bytes);
  io::Request request;
  request.op = io::Op::read;
  request.file = read_handle_;
  request.offset = segment.position;
  request.data = {{read_buffer_.data(), read_buffer_.size()}};
  request.token = std::uint64_t{read_owner_} << 32;
  reading_ = true;
  read_bytes_ = 0;
  storage_.submit(std::move(request));
}

// What was read goes into the buffer, under what is there. False if it is not what was written.
bool Overflow::take_segment() {
  if (!header_known_) {
    header_known_ = true;
    std::memcpy(&header_, read_buffer_.data(), sizeof header_);
    return read_bytes_ == sizeof header_ && header_.checksum == journal::header_checksum(header_);
  }
  const Segment segment = segments_[next_segment_];
  if (read_bytes_ != segment.bytes) return false;
  Window window(segment.position, read_buffer_);
  journal::JournalReader reader(window, 64 * KiB);
  journal::Place place;
  place.position = segment.position;
  place.sequence = segment.sequence;
  place.run_end = 0;
  reader.resume(header_, place);
  journal::Record record;
  const std::uint64_t end = segment.position + segment.bytes;
  while (reader.place().position < end && reader.next(record)) {
    if (record.type == journal::Type::data) buffer_.insert_under(record.offset, record.data);
  }
  next_segment_ = segment.older;
  return reader.place().position == end;
}

void Overflow::forget(std::map<std::uint64_t, Stored>::iterator place) {
  for (std::uint32_t id = place->second.newest; id != none;) {
    const std::uint32_t older = segments_[id].older;
    segments_[id].older = std::exchange(free_segment_, id);
    --live_segments_;
    id = older;
  }
  if (place->second.wanted) --wanted_;
  chunks_.erase(place);
}

Overflow::Progress Overflow::pump(bool may_start, std::uint32_t besides, std::uint64_t& index,
                                  std::vector<WaiterId>& waiters) {
  if (reading_) return Progress::nothing;
  if (loading_ == no_chunk) {
    if (!wanted()) {
      if (empty() && writer_ && !writer_->idle()) writer_->flush();
      return Progress::nothing;
    }
    if (!may_start) return Progress::nothing;
    if (!has_room(buffer_.pool().slots() + besides)) return Progress::needs_room;
    if (!writer_->idle()) {
      writer_->flush();
      return Progress::nothing;
    }
    const auto place =
        std::find_if(chunks_.begin(), chunks_.end(), [](const auto& c) { return c.second.wanted; });
    loading_ = place->first;
    next_segment_ = place->second.newest;
    read_segment();
    return Progress::moved;
  }
  if (status_.ok() && !has_room(blocks_due())) return Progress::needs_room;
  if (status_.ok() && !take_segment()) status_ = Code::corrupt;
  if (!status_.ok()) {  // the owner looks at status() and drops everything
    loading_ = no_chunk;
    return Progress::moved;
  }
  if (next_segment_ != none && !buffer_.complete(loading_)) {
    read_segment();
    return Progress::moved;
  }
  const auto place = chunks_.find(loading_);
  index = std::exchange(loading_, no_chunk);
  waiters.insert(waiters.end(), place->second.waiters.begin(), place->second.waiters.end());
  forget(place);
  return Progress::loaded;
}

void Overflow::complete(const io::Completion& completion) {
  if (static_cast<std::uint32_t>(completion.token >> 32) == write_owner_)
    return writer_->complete(completion);
  reading_ = false;
  read_bytes_ = completion.bytes;
  if (status_.ok()) status_ = completion.status;
}

Status Overflow::status() const { return !status_.ok() || !writer_ ? status_ : writer_->status(); }

void Overflow::drop(std::vector<WaiterId>& waiters) {
  while (!chunks_.empty()) {
    const auto place = chunks_.begin();
    waiters.insert(waiters.end(), place->second.waiters.begin(), place->second.waiters.end());
    forget(place);
  }
  storing_ = no_chunk;
  loading_ = no_chunk;
}

std::uint64_t Overflow::stored_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [index, stored] : chunks_) {
    for (std::uint32_t id = stored.newest; id != none; id = segments_[id].older) bytes += segments_[id].bytes;
  }
  return bytes;
}

bool Overflow::quiet() const { return empty() && !reading_ && (!writer_ || writer_->idle()); }

}  // namespace millrace::agent
