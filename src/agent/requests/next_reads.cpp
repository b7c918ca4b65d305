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
  bool pass(FetchTaker& to) override;
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
  std::vector<Extent> wanted_by(const std::list<Reader>& readers) const;
  bool can_take(const Batch& batch, const FetchTaker& to) const;
  void take(Batch& batch, std::span<const std::byte> bytes, FetchTaker& to);
  bool end_batches();

  FilePipeline& pipeline_;
  std::deque<Reader> waiting_;
  std::list<Batch> batches_;
  Outlet::Wanted arrived_;  // the next bytes, which some sender has no room for
  bool has_arrived_ = false;
  std::vector<Segment> segments_;  // scratch
};

// The union of the rest of all lists.
std::vector<Extent> NextReads::wanted_by(const std::list<Reader>& readers) const {
  std::vector<Extent> all;
  for (const Reader& reader : readers) {
    reader.list.each_below(UINT64_MAX, [&](Extent piece) {
      all.push_back(piece);
      return true;
    });
  }
  std::ranges::sort(all, {}, &Extent::begin);
  std::vector<Extent> joined;
  for (const Extent piece : all) {
    if (!joined.empty() && piece.begin <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, piece.end);
    } else {
      joined.push_back(piece);
    }
  }
  return joined;
}

// Takes waiting lists, in their order, as many as one list on the wire can hold together.
bool NextReads::send_batch() {
  Batch batch;
  std::vector<std::byte> payload;
  while (!waiting_.empty()) {
    if (waiting_.front().over()) {
      end(waiting_.front());
      waiting_.pop_front();
      continue;
    }
    batch.readers.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
    std::vector<Extent> extents = wanted_by(batch.readers);
    transport::WantWriter writer(transport::want_max_payload);
    std::uint64_t bytes = 0;
    const bool fits = std::ranges::all_of(extents, [&](Extent extent) {
      bytes += extent.size();
      return bytes <= transport::want_max_bytes && writer.add(extent);
    });
    if (!fits && batch.readers.size() == 1) {
      batch.readers.front().status = Code::unsupported;
      end(batch.readers.front());
      batch.readers.clear();
      continue;
    }
    if (!fits) {
      waiting_.push_front(std::move(batch.readers.back()));
      batch.readers.pop_back();
      break;
    }
    batch.extents = std::move(extents);
    payload = writer.finish();
  }
  if (batch.readers.empty()) return false;
  batch.ticket = pipeline_.outlet().want(payload);
  ++counters_.requests;
  batches_.push_back(std::move(batch));
  return true;
}

// A sender without room keeps its batch waiting, and so the link. Ranks always have room.
bool NextReads::can_take(const Batch& batch, const FetchTaker& to) const {
  return std::ranges::all_of(batch.readers, [&](const Reader& reader) {
    return reader.over() || to.has_room(reader.list.sender());
  });
}

void NextReads::take(Batch& batch, std::span<const std::byte> bytes, FetchTaker& to) {
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

bool NextReads::end_batches() {
  bool moved = false;
  for (auto batch = batches_.begin(); batch != batches_.end();) {
    Status status;
    if (has_arrived_ || !pipeline_.settlements().take_fetched(batch->ticket, status)) {
      ++batch;
      continue;
    }
    for (Reader& reader : batch->readers) {
      if (!reader.over()) reader.status = status.ok() ? Status(Code::corrupt) : status;
      end(reader);
    }
    batch = batches_.erase(batch);
    moved = true;
  }
  return moved;
}

bool NextReads::pass(FetchTaker& to) {
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
