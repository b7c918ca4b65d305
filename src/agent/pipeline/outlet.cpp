// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/pipeline/outlet.hpp"

#include <algorithm>
#include <utility>

namespace millrace::agent {

namespace {

class SinkOutlet final : public Outlet {
 public:
  explicit SinkOutlet(std::unique_ptr<sink::Sink> sink) : sink_(std::move(sink)) {}

  sink::Ticket put(std::span<const sink::SinkSegment> batch) override { return sink_->put(batch); }
  void flush() override { sink_->flush(); }
  sink::Ticket settle(transport::Kind kind, Extent, bool on_disk) override {
    return kind == transport::Kind::close ? sink_->close(on_disk) : sink_->sync();
  }
  void note(Extent written) override { sink_->note(written); }
  void complete(const io::Completion& completion) override { sink_->complete(completion); }
  void take(std::vector<sink::Done>& done) override { sink_->take(done); }
  Status status() const override { return sink_->status(); }
  bool idle() const override { return sink_->idle(); }
  bool carries() const override { return false; }
  bool direct() const override { return sink_->direct(); }
  const sink::SinkCounters& counters() const override { return sink_->counters(); }

 private:
  std::unique_ptr<sink::Sink> sink_;
};

// Segments wait here, in the pipeline's memory, until the carrier has room for a copy.
class CarrierOutlet final : public Outlet {
 public:
  CarrierOutlet(std::unique_ptr<Carrier> carrier, std::uint64_t record_max_bytes)
      : carrier_(std::move(carrier)), record_max_bytes_(record_max_bytes) {}

  sink::Ticket put(std::span<const sink::SinkSegment> batch) override;
  void flush() override {
    if (carrier_) carrier_->flush();
  }
  void mark(std::uint64_t offset) override;
  sink::Ticket settle(transport::Kind kind, Extent extent, bool on_disk) override;
  bool advance() override;
  void take(std::vector<sink::Done>& done) override;
  sink::Ticket want(std::span<const std::byte> list) override;
  bool take_wanted(Carrier::Wanted& wanted) override { return carrier_ && carrier_->take_wanted(wanted); }
  void give_up() override {
    lose(Code::lost_peer);
    carrier_.reset();
  }
  Status status() const override { return status_; }
  bool idle() const override { return work_.empty() && asked_.empty() && done_.empty(); }
  bool carries() const override { return true; }
  const sink::SinkCounters& counters() const override { return counters_; }

 private:
  struct Work {
    sink::Ticket ticket;
    std::deque<sink::SinkSegment> segments;  // of a write, not sent yet
    transport::Kind kind;
    Extent extent;
    std::vector<std::byte> list = {};  // of a want
  };
  struct Unanswered {
    std::uint32_t request;
    sink::Ticket ticket;
  };
  bool send(Work& work);
  void lose(Status status);

  std::unique_ptr<Carrier> carrier_;  // nullptr after give_up()
  std::uint64_t record_max_bytes_;
  std::deque<Work> work_;
  std::vector<Unanswered> asked_;
  std::vector<sink::Done> done_;
  std::vector<Carrier::Answer> answers_;  // scratch
  sink::SinkCounters counters_;
  Status status_;
  sink::Ticket next_ticket_ = 1;
  std::uint64_t last_end_ = 0;
};

sink::Ticket CarrierOutlet::put(std::span<const sink::SinkSegment> batch) {
  counters_.segments += batch.size();
  work_.push_back({next_ticket_, {batch.begin(), batch.end()}, transport::Kind::write, {}});
  (void)advance();
  return next_ticket_++;
}

sink::Ticket CarrierOutlet::settle(transport::Kind kind, Extent extent, bool) {
  if (request_of(next_ticket_) == 0) ++next_ticket_;
  work_.push_back({next_ticket_, {}, kind, extent});
  (void)advance();
  return next_ticket_++;
}

sink::Ticket CarrierOutlet::want(std::span<const std::byte> list) {
  if (request_of(next_ticket_) == 0) ++next_ticket_;
  work_.push_back({next_ticket_, {}, transport::Kind::want, {}, {list.begin(), list.end()}});
  (void)advance();
  return next_ticket_++;
}

// Of marks that wait one behind the other, only the last one counts.
void CarrierOutlet::mark(std::uint64_t offset) {
  if (!work_.empty() && work_.back().kind == transport::Kind::mark) work_.pop_back();
  work_.push_back({0, {}, transport::Kind::mark, {offset, offset}});
  (void)advance();
}

// True if all of the work has been sent.
bool CarrierOutlet::send(Work& work) {
  if (work.kind == transport::Kind::mark) {
    if (!carrier_->has_room()) return false;
    carrier_->mark(work.extent.begin);
    if (work_.size() == 1) carrier_->flush();  // the next agent waits for it
    return true;
  }
  if (work.kind != transport::Kind::write) {
    const std::uint32_t request = request_of(work.ticket);
    if (work.kind == transport::Kind::want) {
      carrier_->want(request, work.list);
    } else {
      carrier_->request(work.kind, request, work.extent);
    }
    carrier_->flush();
    asked_.push_back({request, work.ticket});
    return true;
  }
  for (; !work.segments.empty(); work.segments.pop_front()) {
    sink::SinkSegment& segment = work.segments.front();
    while (segment.length > 0) {
      if (!carrier_->has_room()) return false;
      const std::uint64_t size = std::min(segment.length, record_max_bytes_);
      carrier_->write(segment.offset, {segment.data, size});
      counters_.bytes += size;
      counters_.writes += 1;
      counters_.seeks += segment.offset != last_end_ ? 1 : 0;
      segment.offset += size;
      segment.data += size;
      segment.length -= size;
      last_end_ = segment.offset;
    }
  }
  done_.push_back({work.ticket, {}});
  return true;
}

bool CarrierOutlet::advance() {
  bool moved = false;
  if (carrier_ && !carrier_->status().ok()) lose(carrier_->status());
  if (!status_.ok()) {
    moved = !work_.empty();
    for (const Work& work : work_) {
      if (work.kind != transport::Kind::mark) done_.push_back({work.ticket, status_});
    }
    work_.clear();
    return moved;
  }
  while (!work_.empty() && send(work_.front())) {
    work_.pop_front();
    moved = true;
  }
  answers_.clear();
  carrier_->take_answers(answers_);
  for (const Carrier::Answer& answer : answers_) {
    const auto asked = std::ranges::find(asked_, answer.request, &Unanswered::request);
    if (asked == asked_.end()) continue;
    done_.push_back({asked->ticket, answer.status});
    asked_.erase(asked);
    moved = true;
  }
  return moved;
}

void CarrierOutlet::lose(Status status) {
  if (!status_.ok()) return;
  status_ = status;
  for (const Unanswered& asked : asked_) done_.push_back({asked.ticket, status});
  asked_.clear();
}

void CarrierOutlet::take(std::vector<sink::Done>& done) {
  done.insert(done.end(), done_.begin(), done_.end());
  done_.clear();
}

}  // namespace

std::unique_ptr<Outlet> make_outlet(std::unique_ptr<sink::Sink> sink) {
  return std::make_unique<SinkOutlet>(std::move(sink));
}

std::unique_ptr<Outlet> make_outlet(std::unique_ptr<Carrier> carrier, std::uint64_t record_max_bytes) {
  return std::make_unique<CarrierOutlet>(std::move(carrier), record_max_bytes);
}

}  // namespace millrace::agent
