// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// An agent that is not the file server asks the next agent, with one list for all that want bytes now.
#include <algorithm>
#include <deque>
#include <list>
#include <utility>

#include "agent/requests/reads.hpp"
#include "transport/want_list.hpp"

namespace millrace::agent {

namespace {

// Merges two ascending lists. Which one is next is a coin toss for the processor, so nothing branches on it.
void merge(std::span<const Extent> a, std::span<const Extent> b, Extent* into) {
  while (!a.empty() && !b.empty()) {
    const bool second = b.front().begin < a.front().begin;
    *into++ = second ? b.front() : a.front();
    b = b.subspan(second ? 1 : 0);
    a = a.subspan(second ? 0 : 1);
  }
  std::ranges::copy(b, std::ranges::copy(a, into).out);
}

// The list on the wire. False: it is too long.
bool encode(std::span<const Extent> extents, std::vector<std::byte>& payload) {
  transport::WantWriter writer(transport::want_max_payload);
  std::uint64_t bytes = 0;
  const bool fits = std::ranges::all_of(extents, [&](Extent extent) {
    bytes += extent.size();
    return bytes <= transport::want_max_bytes && writer.add(extent);
  });
  if (fits) payload = writer.finish();
  return fits;
}

class NextReads final : public Reads {
 public:
  explicit NextReads(FilePipeline& pipeline) : pipeline_(pipeline) {}

  void begin(WaiterId waiter, ReadList list) override { waiting_.push_back({waiter, std::move(list)}); }
  void abandon(SenderId sender) override {
    const auto mark = [sender](Reader& reader) { reader.gone |= reader.list.sender() == sender; };
    std::ranges::for_each(waiting_, mark);
    for (Batch& batch : batches_) std::ranges::for_each(batch.readers, mark);
  }
  void drop() override {
    for (Reader& reader : std::exchange(waiting_, {})) {
      if (!reader.over()) reader.status = Code::unsupported;
      end(reader);
    }
  }
  void give_up() override {
    drop();
    for (Batch& batch : batches_) end_readers(batch, Code::unsupported);
    batches_.clear();
    has_arrived_ = false;
  }
  bool pass(ReadTaker& to) override;
  bool in_flight() const override { return false; }
  bool empty() const override { return waiting_.empty() && batches_.empty(); }

 private:
  // One list on the wire, and the lists that share it.
  struct Batch {
    sink::Ticket ticket = 0;
    std::list<Reader> readers = {};
    std::vector<Extent> extents = {};  // all that the readers want, each byte once
    std::size_t index = 0;             // of the extent with the next byte
    std::uint64_t passed = 0;          // bytes of it that have come
  };

  bool send_batch();
  static std::uint64_t join(std::vector<Extent>& all, std::vector<std::size_t>& ends);
  std::size_t unite(std::size_t most, std::vector<Extent>& all) const;
  bool can_take(const Batch& batch, const ReadTaker& to) const;
  void take(Batch& batch, std::span<const std::byte> bytes, ReadTaker& to);
  void end_readers(Batch& batch, Status status);
  bool end_batches();

  FilePipeline& pipeline_;
  std::deque<Reader> waiting_;
  std::list<Batch> batches_;
  Carrier::Wanted arrived_;  // the next bytes, which some sender has no room for
  bool has_arrived_ = false;
  std::vector<LoadedPart> segments_;  // scratch
};

// Merges the ascending lists that follow each other in `all` and end at `ends`, so that each byte is there
// once. Returns the number of bytes.
std::uint64_t NextReads::join(std::vector<Extent>& all, std::vector<std::size_t>& ends) {
  std::vector<Extent> into(all.size());
  while (ends.size() > 1) {  // merges neighbours
    std::size_t begin = 0, kept = 0;
    for (std::size_t i = 0; i < ends.size(); i += 2) {
      const std::size_t middle = ends[i], end = ends[std::min(i + 1, ends.size() - 1)];
      merge(std::span(all).subspan(begin, middle - begin), std::span(all).subspan(middle, end - middle),
            into.data() + begin);
      ends[kept++] = begin = end;
    }
    ends.resize(kept);
    std::swap(all, into);
  }
  std::size_t last = 0;
  std::uint64_t bytes = all.front().size();
  for (const Extent piece : all) {
    const std::uint64_t end = all[last].end;
    if (piece.begin > end) {
      all[++last] = piece;
      bytes += piece.size();
    } else if (piece.end > end) {
      all[last].end = piece.end;
      bytes += piece.end - end;
    }
  }
  all.resize(last + 1);
  return bytes;
}

// Fills `all` with what the first lists of the queue want, at most `most` of them. Returns how many. These
// are as many as a list on the wire can hold if all of their bytes differ, and again as many for the room
// that is left.
std::size_t NextReads::unite(std::size_t most, std::vector<Extent>& all) const {
  all.clear();
  std::size_t lists = 0;
  std::uint64_t bytes = 0;
  std::vector<std::size_t> ends;
  for (bool grows = true; grows;) {
    ends.assign(all.empty() ? 0 : 1, all.size());
    const std::size_t before = lists;
    for (std::uint64_t sum = bytes; lists < most; ++lists) {
      waiting_[lists].list.each_below(UINT64_MAX, [&](Extent piece) {
        sum += piece.size();
        all.push_back(piece);
        return true;
      });
      const bool fits = sum <= transport::want_max_bytes && all.size() <= transport::want_max_extents;
      if (!fits && lists > 0) {
        all.resize(ends.back());
        break;
      }
      ends.push_back(all.size());
    }
    grows = lists > before;
    if (grows) bytes = join(all, ends);
  }
  return lists;
}

// Takes waiting lists, in their order, as many as one list on the wire can hold together.
bool NextReads::send_batch() {
  for (const Reader& reader : waiting_) {
    if (reader.over()) end(reader);
  }
  std::erase_if(waiting_, [](const Reader& reader) { return reader.over(); });
  if (waiting_.empty()) return false;
  Batch batch;
  std::vector<std::byte> payload;
  std::size_t lists = unite(waiting_.size(), batch.extents);
  while (lists > 0 && !encode(batch.extents, payload))
    lists = lists > 1 ? unite(lists / 2, batch.extents) : 0;
  if (lists == 0) {
    waiting_.front().status = Code::unsupported;
    return true;
  }
  for (; lists > 0; --lists) {
    batch.readers.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  batch.ticket = pipeline_.outlet().want(payload);
  ++counters_.requests;
  batches_.push_back(std::move(batch));
  return true;
}

// A sender without room keeps its batch waiting, and so the link. Ranks always have room.
bool NextReads::can_take(const Batch& batch, const ReadTaker& to) const {
  return std::ranges::all_of(batch.readers, [&](const Reader& reader) {
    return reader.over() || to.has_room(reader.list.sender());
  });
}

void NextReads::take(Batch& batch, std::span<const std::byte> bytes, ReadTaker& to) {
  segments_.clear();
  while (!bytes.empty() && batch.index < batch.extents.size()) {
    const Extent& extent = batch.extents[batch.index];
    const std::uint64_t begin = extent.begin + batch.passed;
    const std::uint64_t size = std::min<std::uint64_t>(bytes.size(), extent.end - begin);
    segments_.push_back({{begin, begin + size}, bytes.data()});
    bytes = bytes.subspan(size);
    batch.passed += size;
    if (batch.passed < extent.size()) continue;
    batch.passed = 0;
    ++batch.index;
  }
  for (Reader& reader : batch.readers) {
    if (!reader.over()) hand_out(reader, segments_, to);
  }
}

// An error counts for readers that have all bytes too: records that the file lacks may be among these.
void NextReads::end_readers(Batch& batch, Status status) {
  for (Reader& reader : batch.readers) {
    reader.status = status.ok() && !reader.over() ? Status(Code::corrupt) : status;
    end(reader);
  }
}

bool NextReads::end_batches() {
  bool moved = false;
  for (auto batch = batches_.begin(); batch != batches_.end();) {
    Status status;
    if (has_arrived_ || !pipeline_.settlements().take_read(batch->ticket, status)) {
      ++batch;
      continue;
    }
    end_readers(*batch, status);
    batch = batches_.erase(batch);
    moved = true;
  }
  return moved;
}

bool NextReads::pass(ReadTaker& to) {
  bool moved = false;
  for (;;) {
    if (!has_arrived_) {
      has_arrived_ = pipeline_.outlet().take_wanted(arrived_);
      if (!has_arrived_) break;
      counters_.bytes_in += arrived_.bytes.size();
    }
    const auto batch = std::ranges::find(batches_, arrived_.request,
                                         [](const Batch& one) { return request_of(one.ticket); });
    if (batch != batches_.end()) {
      if (!can_take(*batch, to)) break;
      take(*batch, arrived_.bytes, to);
    }
    has_arrived_ = false;
    moved = true;
  }
  moved |= end_batches();
  // Lists that come meanwhile share the next batch.
  while (batches_.size() < transport::wants_on_a_link && send_batch()) moved = true;
  return moved;
}

}  // namespace

std::unique_ptr<Reads> Reads::of_next(FilePipeline& pipeline) {
  return std::make_unique<NextReads>(pipeline);
}

}  // namespace millrace::agent
