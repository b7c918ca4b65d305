// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "agent/pipeline/outlet.hpp"

namespace millrace::agent {

namespace {

//   put -+-> file    (a copy here)
//        +-> next    (the next agent)
//
// The memory of a put is free again when both have finished with it. A settle() waits for the answer of the
// next agent, which stands for all agents behind it. The file here only has to settle a sync: its finished
// puts are in the file system.
class TeeOutlet final : public Outlet {
 public:
  TeeOutlet(std::unique_ptr<Outlet> file, std::unique_ptr<Outlet> next)
      : file_(std::move(file)), next_(std::move(next)) {}

  sink::Ticket put(std::span<const sink::SinkSegment> batch) override {
    return await(file_->put(batch), next_->put(batch));
  }
  void flush() override {
    file_->flush();
    next_->flush();
  }
  void mark(std::uint64_t offset) override { next_->mark(offset); }
  sink::Ticket settle(transport::Kind kind, Extent extent, bool on_disk) override {
    const sink::Ticket here = kind == transport::Kind::sync ? file_->settle(kind, extent, on_disk) : 0;
    return await(here, next_->settle(kind, extent, on_disk));
  }
  void note(Extent written) override { file_->note(written); }
  void complete(const io::Completion& completion) override { file_->complete(completion); }
  bool advance() override { return next_->advance(); }
  void take(std::vector<sink::Done>& done) override;
  void give_up() override { next_->give_up(); }
  Status status() const override { return file_->status().ok() ? next_->status() : file_->status(); }
  bool idle() const override { return pairs_.empty() && file_->idle() && next_->idle(); }
  bool carries() const override { return true; }
  bool direct() const override { return file_->direct(); }
  const sink::SinkCounters& counters() const override { return file_->counters(); }

 private:
  struct Pair {
    sink::Ticket ticket;
    sink::Ticket file, next;  // 0: done
    Status status;
  };
  sink::Ticket await(sink::Ticket file, sink::Ticket next) {
    pairs_.push_back({next_ticket_, file, next, {}});
    return next_ticket_++;
  }
  void collect(Outlet& outlet, sink::Ticket Pair::*half);

  std::unique_ptr<Outlet> file_, next_;
  std::deque<Pair> pairs_;          // in the order of tickets
  std::vector<sink::Done> halves_;  // scratch
  sink::Ticket next_ticket_ = 1;
};

void TeeOutlet::collect(Outlet& outlet, sink::Ticket Pair::*half) {
  halves_.clear();
  outlet.take(halves_);
  for (const sink::Done& done : halves_) {
    const auto pair = std::ranges::find(pairs_, done.ticket, half);
    if (pair == pairs_.end()) continue;
    (*pair).*half = 0;
    if (pair->status.ok()) pair->status = done.status;
  }
}

void TeeOutlet::take(std::vector<sink::Done>& done) {
  collect(*file_, &Pair::file);
  collect(*next_, &Pair::next);
  std::erase_if(pairs_, [&done](const Pair& pair) {
    if (pair.file != 0 || pair.next != 0) return false;
    done.push_back({pair.ticket, pair.status});
    return true;
  });
}

}  // namespace

std::unique_ptr<Outlet> make_tee(std::unique_ptr<Outlet> file, std::unique_ptr<Outlet> next) {
  return std::make_unique<TeeOutlet>(std::move(file), std::move(next));
}

}  // namespace millrace::agent
