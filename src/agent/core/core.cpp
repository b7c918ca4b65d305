// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/core/core.hpp"

#include <poll.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent/core/core_impl.hpp"
#include "agent/core/report.hpp"

namespace millrace::agent {

Core::Core(io::Storage& storage, std::string journal_directory)
    : impl_(std::make_unique<Impl>(storage, std::move(journal_directory))) {}

// Requests in flight point into Core's memory, so they have to end first. All other bytes are dropped.
Core::~Core() {
  const auto busy = [this] {
    bool any = !impl_->shared.retirements.quiet();
    impl_->files.each([&](const OpenFile& file) { any |= !file.quiet(); });
    return any;
  };
  impl_->files.each_lane([](OpenFile&, Lane& lane) {
    lane.pipeline->drop();
    lane.pipeline->outlet().give_up();
  });
  const auto drain = [&] {
    while (busy()) {
      impl_->take_completions(0);
      impl_->files.each_lane([](OpenFile&, Lane& lane) {
        lane.pipeline->pump();
        (void)lane.pipeline->settlements().take();
        lane.pipeline->settlements().forget_read();
      });
      impl_->shared.storage.kick();
      pollfd ready{impl_->shared.storage.event_fd(), POLLIN, 0};
      if (ready.fd >= 0 && busy()) (void)::poll(&ready, 1, 100);
    }
  };
  drain();
  impl_->files.each([](OpenFile& file) { file.ledger.reset(); });
  drain();
}

// Asks every lane that the sender has joined. A guest has joined none and asks all lanes.
template <class Ask>
void Core::Impl::ask(SenderId sender, FileSlot slot, std::uint32_t request, Ask&& ask_lane, Asked how) {
  OpenFile* const open = files.at(slot);
  if (open == nullptr) {
    replies.push_back({sender, request, Code::invalid});
    return;
  }
  std::size_t asked = 0;
  for (const auto& lane : open->lanes) {
    if (!lane->requests.members().has(sender)) continue;
    ask_lane(*lane, asked == 0);
    ++asked;
  }
  const std::size_t guest = asked == 0 ? open->lanes.size() : 0;
  open->past |= guest > 0 && how.forgets;
  for (; asked < guest; ++asked) ask_lane(*open->lanes[asked], asked == 0);
  // An agent upstream asks for some lanes only.
  how.forgets &= asked == open->lanes.size() && open->ledger && !open->ledger->empty();
  std::optional<Ledger::Cut> cut;
  if (how.forgets) cut = open->ledger->cut();
  if (how.answered && (asked > 1 || cut || how.told))
    spreads.emplace(std::pair(sender, request), Spread{asked, {}, slot, cut, how.told});
}

void Core::Impl::answer(const Reply& reply) {
  const auto found = spreads.find({reply.sender, reply.request});
  if (found == spreads.end()) {
    replies.push_back(reply);
    return;
  }
  Spread& spread = found->second;
  if (spread.status.ok()) spread.status = reply.status;
  if (--spread.lanes > 0) return;
  const Reply whole{reply.sender, reply.request, spread.status};
  OpenFile* const file = files.at(spread.slot);
  if (spread.told) {
    if (spread.cut && whole.status.ok()) file->ledger->forget(*spread.cut);
  } else if (spread.cut) {
    file->owe(whole, *spread.cut);
  } else {
    replies.push_back(whole);
  }
  spreads.erase(found);
}

void Core::ask(transport::Kind kind, SenderId sender, FileSlot slot, std::uint32_t request, Extent extent) {
  impl_->ask(sender, slot, request,
             [&](Lane& lane, bool) { lane.requests.ask(kind, sender, request, extent); },
             {.forgets = kind == transport::Kind::sync});
}

void Core::want(SenderId sender, FileSlot slot, std::uint32_t request, std::span<const Extent> extents) {
  OpenFile* const open = impl_->files.at(slot);
  if (open == nullptr || !open->lanes.front()->reads) {
    impl_->replies.push_back({sender, request, open == nullptr ? Code::invalid : Code::unsupported});
    return;
  }
  std::vector<std::vector<ReadPiece>> dealt = open->deal(extents);
  std::size_t asked = 0;
  for (std::size_t i = 0; i < dealt.size(); ++i) {
    if (dealt[i].empty()) continue;
    open->lanes[i]->requests.want(sender, request, std::move(dealt[i]));
    ++asked;
  }
  if (asked > 1) impl_->spreads.emplace(std::pair(sender, request), Spread{asked});
}

bool Core::pass_read(ReadTaker& to) {
  bool moved = false;
  impl_->files.each_lane([&](OpenFile&, Lane& lane) {
    if (lane.reads) moved |= lane.reads->pass(to);
  });
  return moved;
}

void Core::close(SenderId sender, FileSlot slot, std::uint32_t request,
                 const transport::ClientCounters& counters, bool withdrawn) {
  OpenFile* const open = impl_->files.at(slot);
  const bool rank = sender >= impl_->senders.size() || !impl_->senders[sender].upstream;
  const bool from_ledger = open != nullptr && rank && open->answers_from_ledger();
  // A file that is only read has nothing to wait for.
  const bool at_once = open != nullptr && open->reads_only;
  Status status;
  const auto close_lane = [&](Lane& lane, bool first) {
    if (from_ledger && lane.requests.members().take_lost_peer(sender)) status = Code::lost_peer;
    lane.requests.close(sender, request, first ? counters : transport::ClientCounters{}, !at_once,
                        withdrawn && rank);
  };
  impl_->ask(sender, slot, request, close_lane, {.answered = !at_once, .told = from_ledger, .forgets = true});
  if (from_ledger) open->owe({sender, request, status});
  if (at_once) impl_->replies.push_back({sender, request, {}});
}

void Core::abandon(SenderId sender) {
  impl_->files.each_lane([&](OpenFile&, Lane& lane) { lane.requests.abandon(sender); });
  std::erase_if(impl_->spreads, [sender](const auto& entry) { return entry.first.first == sender; });
  std::erase_if(impl_->replies, [sender](const Reply& one) { return one.sender == sender; });
  impl_->files.each([sender](OpenFile& file) { file.forget(sender); });
}

bool Core::Impl::take_completions(std::uint64_t elapsed_ns) {
  completions.clear();
  shared.storage.poll(completions);
  for (const io::Completion& completion : completions) {
    shared.retirements.complete(completion);
    files.each_lane([&](OpenFile&, Lane& lane) {
      lane.pipeline->complete(completion);
      if (lane.reads) lane.reads->complete(completion);
    });
    files.each([&](OpenFile& file) { file.complete(completion); });
  }
  bool any = !completions.empty();
  files.each_lane([&](OpenFile&, Lane& lane) { any |= lane.pipeline->collect(elapsed_ns); });
  return any;
}

bool Core::Impl::advance_ledgers() {
  bool any = false;
  shared.ledger_full = false;
  files.each([&](OpenFile& file) {
    if (!file.ledger) return;
    any |= file.advance_ledger(shared.now_ns, replies);
    shared.ledger_full |= !file.ledger->ready();
  });
  return any;
}

std::uint64_t Core::Impl::bound_ns_of(const OpenFile& file) const {
  return hold_bound_ns(shared.write_within_ns, file.nodes, file.topology);
}

void Core::Impl::expire() {
  files.each_lane([this](OpenFile& file, Lane& lane) {
    FilePipeline& way = *lane.pipeline;
    if (lane.expiry.due(way.buffers(), shared.now_ns, bound_ns_of(file), way.sweep().moved_ns()))
      file.write_out(lane);
  });
}

bool Core::Impl::retire() {
  bool any = false;
  for (FileSlot slot = 0; slot < files.end(); ++slot) {
    OpenFile* const file = files.at(slot);
    if (file == nullptr || !file->over()) continue;
    for (std::uint32_t lane = 0; lane < file->lanes.size(); ++lane) {
      file->lanes[lane]->watch.end(file->path, spans);
      reports.push_back(make_report(*file, lane, *shared.pool));
    }
    if (std::string message = file->ledger_message(); !message.empty())
      messages.push_back(std::move(message));
    files.remove(slot);
    any = true;
  }
  if (any && !files.any()) memory.let_go();
  if (shared.pool) (void)memory.share_out();
  return any;
}

bool Core::advance(std::uint64_t now_ns) {
  Impl& core = *impl_;
  const bool full = !ready();
  const std::uint64_t before_ns = core.shared.now_ns == 0 ? now_ns : core.shared.now_ns;
  core.shared.now_ns = now_ns;
  for (const SenderId id : core.spoke) {
    core.senders[id].spoke = false;
    core.senders[id].last_ns = now_ns;
  }
  core.spoke.clear();
  bool moved = core.take_completions(now_ns - before_ns);
  core.answers.clear();
  moved |= core.advance_ledgers();
  core.files.each_lane([&](OpenFile& file, Lane& lane) {
    moved |= lane.requests.advance(now_ns, file.holds_answers(), core.answers);
  });
  for (const Reply& reply : core.answers) core.answer(reply);
  core.expire();
  core.memory.make_room();
  core.shared.advance_wanted = false;
  core.files.each_lane([&](OpenFile& file, Lane& lane) {
    moved |= lane.pipeline->pump(!file.ledger || file.ledger->lets_write());
    core.shared.advance_wanted |= lane.pipeline->throttled() || lane.pipeline->claims().recalls;
  });
  core.files.each([now_ns](OpenFile& file) {
    file.note_writers();
    file.listen(now_ns);
  });
  core.shared.retirements.advance(now_ns);
  core.shared.storage.kick();
  core.files.each_lane([&](OpenFile& file, Lane& lane) {
    if (core.telling) lane.watch.tell(now_ns, file.path, *lane.pipeline, lane.requests, core.reports);
    if (core.tracing)
      lane.watch.look(now_ns, file.path, *lane.pipeline, lane.requests, lane.reads.get(), core.spans);
  });
  moved |= core.retire();
  return moved || (full && ready());
}

std::uint64_t Core::next_deadline_ns() const {
  std::uint64_t next = impl_->shared.retirements.next_deadline_ns();
  impl_->files.each_lane([&](const OpenFile&, const Lane& lane) {
    next = std::min({next, lane.requests.next_deadline_ns(), lane.watch.next_deadline_ns(),
                     lane.expiry.next_deadline_ns()});
    const std::uint64_t ahead_until = lane.pipeline->departures().ahead_until_ns();
    if (ahead_until > impl_->shared.now_ns) next = std::min(next, ahead_until);
  });
  impl_->files.each([&](const OpenFile& file) { next = std::min(next, file.next_sign_ns()); });
  return next;
}

void Core::set_bounds(const Bounds& bounds) {
  impl_->shared.write_within_ns = bounds.write_within_ns;
  impl_->shared.pool_bound_bytes = bounds.pool_bytes;
  impl_->shared.stamp_clock = bounds.stamp_clock;
  impl_->shared.agent = bounds.agent;
}

void Core::write_out() {
  impl_->files.each_lane([](OpenFile&, Lane& lane) { lane.pipeline->depart(everything); });
}

std::uint64_t Core::look_every_ns() const {
  std::uint64_t every = UINT64_MAX;
  impl_->files.each([&](const OpenFile& file) { every = std::min(every, impl_->bound_ns_of(file)); });
  return every;
}

Core::Partial Core::partial() const {
  Partial all{0, impl_->shared.budget.worth_holding_back()};
  impl_->files.each_lane(
      [&](const OpenFile&, const Lane& lane) { all.blocks += lane.pipeline->claims().partial; });
  return all;
}

std::vector<Reply> Core::take_replies() { return std::exchange(impl_->replies, {}); }

void Core::follow(bool lines, bool spans) {
  impl_->telling = lines;
  impl_->tracing = spans;
}

std::vector<Span> Core::take_spans() { return std::exchange(impl_->spans, {}); }

Status Core::error(FileSlot slot) const {
  const OpenFile* file = impl_->files.at(slot);
  return file != nullptr ? file->error() : Status(Code::invalid);
}

bool Core::dirty(FileSlot slot) const {
  const OpenFile* file = impl_->files.at(slot);
  return file != nullptr && file->dirty();
}

Core::News Core::take_news() {
  journal::Retirements& retirements = impl_->shared.retirements;
  News news{retirements.take_messages(), std::exchange(impl_->reports, {}), retirements.refused(),
            impl_->taken_bytes, impl_->shared.pool ? impl_->shared.pool->blocks.known_bytes() : 0};
  std::ranges::move(std::exchange(impl_->messages, {}), std::back_inserter(news.messages));
  return news;
}

bool Core::keeps(FileSlot slot) const {
  const OpenFile* file = impl_->files.at(slot);
  return file != nullptr && file->ledger &&
         (!file->ledger->empty() || file->ledger->removal().code() == Code::timeout);
}

std::uint64_t Core::ledger_mark(FileSlot slot) const {
  const OpenFile* file = impl_->files.at(slot);
  return file != nullptr && file->ledger && file->asked.strategy == Strategy::journal
             ? file->ledger->cut().mark
             : 0;
}

bool Core::kept(FileSlot slot, std::uint64_t mark) const {
  const OpenFile* file = impl_->files.at(slot);
  return file == nullptr || !file->ledger || file->ledger->state() == Ledger::State::given_up ||
         file->ledger->written() >= mark;
}

Core::Look Core::look(FileSlot slot) const {
  const OpenFile* file = impl_->files.at(slot);
  if (file == nullptr) return {};
  Look look{file->identity, file->path, false, !file->closings->quiet(), file->silence.target.ns()};
  if (file->silence.journals.ns() > look.silent_ns) {
    look.silent_ns = file->silence.journals.ns();
    look.silent_journals = impl_->shared.journal_directory;
  }
  if (file->ledger && !file->ledger->quiet()) look.in_flight = true;
  for (const auto& lane : file->lanes) {
    look.reading |= lane->reads && !lane->reads->empty();
    look.in_flight |= lane->busy() || !lane->pipeline->outlet().idle();
  }
  return look;
}

std::uint64_t Core::file_number(FileSlot slot) const {
  const OpenFile* file = impl_->files.at(slot);
  return file != nullptr ? file->number : 0;
}

bool Core::idle() const { return !impl_->files.any() && impl_->shared.retirements.quiet(); }

bool Core::end() {
  const bool over = impl_->shared.retirements.end();
  impl_->shared.storage.kick();
  return over;
}

}  // namespace millrace::agent
