// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/core/core.hpp"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "agent/pipeline/block_pool.hpp"
#include "agent/core/core_impl.hpp"
#include "agent/core/report.hpp"

namespace millrace::agent {

Core::Core(io::Storage& storage, std::string journal_directory)
    : impl_(std::make_unique<Impl>(storage, std::move(journal_directory))) {}

// What is in flight points into our memory: it has to end first. What is not in flight yet is dropped.
Core::~Core() {
  const auto busy = [this] {
    bool any = false;
    impl_->each_lane([&](const OpenFile& file, const Lane& lane) {
      any |= !lane.pipeline->quiet() || (lane.fetches && lane.fetches->in_flight()) ||
             (file.ledger && !file.ledger->quiet());
    });
    return any;
  };
  impl_->each_lane([](OpenFile&, Lane& lane) { lane.pipeline->drop(); });
  std::vector<sink::Ticket> unheeded;  // nobody waits for them any more
  while (busy()) {
    impl_->take_completions();
    impl_->each_lane([&unheeded](OpenFile&, Lane& lane) {
      lane.pipeline->pump();
      lane.pipeline->take_settled(unheeded);
      (void)lane.pipeline->take_fetched();
    });
    impl_->shared.storage.kick();
    pollfd ready{impl_->shared.storage.event_fd(), POLLIN, 0};
    if (ready.fd >= 0 && busy()) (void)::poll(&ready, 1, 100);
  }
}

// Asks every lane in which the channel has a part.
template <class Ask>
void Core::Impl::ask(ChannelId channel, FileSlot slot, std::uint32_t request, Ask&& ask_lane, bool answered) {
  OpenFile* const open = file(slot);
  if (open == nullptr) {
    replies.push_back({channel, request, Code::invalid});
    return;
  }
  std::size_t asked = 0;
  for (const auto& lane : open->lanes) {
    if (!lane->requests.has(channel)) continue;
    ask_lane(*lane, asked == 0);
    ++asked;
  }
  const std::size_t guest = asked == 0 ? open->lanes.size() : 0;  // asks for the whole file
  for (; asked < guest; ++asked) ask_lane(*open->lanes[asked], asked == 0);
  if (asked > 1 && answered) spreads.push_back({channel, request, asked, {}});
}

void Core::Impl::answer(const Reply& reply) {
  const auto spread = std::ranges::find_if(spreads, [&](const Spread& one) {
    return one.channel == reply.channel && one.request == reply.request;
  });
  if (spread == spreads.end()) {
    replies.push_back(reply);
    return;
  }
  if (spread->status.ok()) spread->status = reply.status;
  if (--spread->lanes > 0) return;
  replies.push_back({reply.channel, reply.request, spread->status});
  spreads.erase(spread);
}

void Core::flush(ChannelId channel, FileSlot slot, std::uint32_t request, Extent extent) {
  impl_->ask(channel, slot, request,
             [&](Lane& lane, bool) { lane.requests.flush(channel, request, extent); });
}

void Core::arrive(ChannelId channel, FileSlot slot, std::uint32_t request) {
  impl_->ask(channel, slot, request, [&](Lane& lane, bool) { lane.requests.arrive(channel, request); });
}

void Core::sync(ChannelId channel, FileSlot slot, std::uint32_t request) {
  impl_->ask(channel, slot, request, [&](Lane& lane, bool) { lane.requests.sync(channel, request); });
}

void Core::fetch(ChannelId channel, FileSlot slot, std::uint32_t request, Extent extent) {
  OpenFile* const open = impl_->file(slot);
  if (open == nullptr || !open->lanes.front()->fetches) {
    impl_->replies.push_back({channel, request, open == nullptr ? Code::invalid : Code::unsupported});
    return;
  }
  open->lanes.front()->requests.fetch(channel, request, extent);
}

bool Core::pass_fetched(FetchTaker& to) {
  bool moved = false;
  impl_->each_lane([&](OpenFile&, Lane& lane) { moved |= lane.fetches && lane.fetches->pass(to); });
  return moved;
}

bool Core::fetching(FileSlot slot) const {
  const OpenFile* file = impl_->file(slot);
  return file != nullptr && file->lanes.front()->fetches && !file->lanes.front()->fetches->empty();
}

void Core::close(ChannelId channel, FileSlot slot, std::uint32_t request,
                 const transport::ClientCounters& counters) {
  OpenFile* const open = impl_->file(slot);
  const bool rank = channel >= impl_->channels.size() || !impl_->channels[channel].upstream;
  const bool from_ledger = open != nullptr && rank && open->answers_from_ledger();
  Status status;
  const auto close_lane = [&](Lane& lane, bool first) {
    if (from_ledger && lane.requests.take_lost_peer(channel)) status = Code::lost_peer;
    lane.requests.close(channel, request, first ? counters : transport::ClientCounters{}, !from_ledger);
  };
  impl_->ask(channel, slot, request, close_lane, !from_ledger);
  if (from_ledger) open->owe({channel, request, status});
}

void Core::abandon(ChannelId channel) {
  impl_->each_lane([&](OpenFile&, Lane& lane) { lane.requests.abandon(channel); });
  const auto of_channel = [channel](const auto& one) { return one.channel == channel; };
  std::erase_if(impl_->spreads, of_channel);
  std::erase_if(impl_->replies, of_channel);
  for (const auto& file : impl_->files) {
    if (file) file->forget(channel);
  }
}

bool Core::Impl::take_completions() {
  bool any = false;
  completions.clear();
  shared.storage.poll(completions);
  for (const io::Completion& completion : completions) {
    const std::uint32_t owner = sink::owner_of(completion.token);
    each_lane([&](OpenFile&, Lane& lane) {
      if (lane.pipeline->owns(owner)) lane.pipeline->complete(completion);
      if (lane.fetches && lane.fetches->owns(owner)) lane.fetches->complete(completion);
    });
    for (const auto& file : files) {
      if (file && file->ledger && file->ledger->owns(owner)) file->ledger->complete(completion);
    }
    any = true;
  }
  each_lane([&](OpenFile&, Lane& lane) { any |= lane.pipeline->collect(); });
  return any;
}

bool Core::Impl::advance_ledgers() {
  bool any = false;
  shared.ledger_full = false;
  for (const auto& file : files) {
    if (!file || !file->ledger) continue;
    any |= file->advance_ledger(shared.now_ns, replies);
    shared.ledger_full |= !file->ledger->ready();
  }
  return any;
}

bool Core::Impl::evict_one() {
  FilePipeline* largest = nullptr;
  each_lane([&](OpenFile&, Lane& lane) {
    const std::uint32_t held = lane.pipeline->blocks_held();
    if (held > (largest != nullptr ? largest->blocks_held() : 0)) largest = lane.pipeline.get();
  });
  return largest != nullptr && largest->evict();
}

void Core::Impl::make_room() {
  if (!shared.pool) return;
  (void)share_out();
  const BlockPool& pool = *shared.pool;
  const auto short_of = [](const LazyPool& items) {
    return items.available() <= std::max(2U, items.count() / 8);
  };
  while (pool.blocks.available() + shared.leaving_blocks < shared.window_blocks + shared.reserved_blocks ||
         (shared.leaving_blocks < shared.window_blocks &&
          (short_of(pool.fine_maps) || pool.chunks.available() <= shared.window_blocks / 8 ||
           !pool.has_room(shared.record_max_bytes, shared.reserved_blocks)))) {
    if (!evict_one()) break;
  }
  make_way();
}

// What leaves, and what is to come back from a journal, may be stuck until other agents get on, and they may
// wait for a lane here. So while ready() is false for such a reason, a lane that agents feed lets go of what
// it has, and takes more: with a journal or the file it needs nobody for that, else only agents that are
// nearer to the file.
void Core::Impl::make_way() {
  const BlockPool& pool = *shared.pool;
  bool stopped = !pool.has_room(shared.record_max_bytes, shared.reserved_blocks);
  each_lane([&](const OpenFile&, const Lane& lane) {
    stopped |= lane.pipeline->throttled() || (lane.pipeline->recalls() && lane.pipeline->starved());
  });
  if (!stopped) return;
  const bool none = !pool.has_room(shared.record_max_bytes);
  each_lane([&](const OpenFile&, const Lane& lane) {
    FilePipeline& way = *lane.pipeline;
    const auto takes = [&] {
      return !none && way.blocks_in_use() + pool.spans(shared.record_max_bytes) <= shared.lane_blocks;
    };
    while (lane.upstreams > 0 && !way.leaving() && !takes() && way.evict()) {
    }
  });
}

// Memory of lanes that agents upstream feed, and what is due to chunks that come back from journals. False:
// there are too many of these lanes.
bool Core::Impl::share_out() {
  constexpr std::uint32_t most_blocks = 64;
  std::uint32_t fed = 0;
  const auto feeds = [](const OpenFile& file, const Lane& lane) {
    return lane.upstreams > 0 && !file.replaced;
  };
  each_lane([&](const OpenFile& file, const Lane& lane) { fed += feeds(file, lane) ? 1 : 0; });
  shared.lane_blocks = shared.reserved_blocks = shared.landing_blocks = 0;
  each_lane([this](const OpenFile&, const Lane& lane) {
    shared.reserved_blocks += lane.pipeline->blocks_due();
    if (lane.pipeline->lands()) shared.landing_blocks = shared.pool->slots();
  });
  if (fed == 0) return true;
  const std::uint32_t least = 2 * shared.pool->spans(shared.record_max_bytes);
  const std::uint32_t usable = shared.pool->usable_blocks();
  shared.lane_blocks = std::max(least, std::min(most_blocks, usable / (4 * fed)));
  each_lane([&](const OpenFile& file, const Lane& lane) {
    const std::uint32_t held = lane.pipeline->blocks_in_use();
    if (feeds(file, lane) && held < shared.lane_blocks) shared.reserved_blocks += shared.lane_blocks - held;
  });
  return std::uint64_t{fed} * least <= usable / 2;
}

bool Core::Impl::anything_open() const {
  return std::any_of(files.begin(), files.end(), [](const auto& file) { return file != nullptr; });
}

bool Core::Impl::retire() {
  bool any = false;
  for (auto& file : files) {
    if (!file || !file->over()) continue;
    for (std::size_t i = 0; i < file->lanes.size(); ++i) {
      Lane& lane = *file->lanes[i];
      lane.watch.end(file->path, spans);
      const LaneNumber number{static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(file->lanes.size()),
                              file->node, file->nodes, file->topology};
      reports.push_back(make_report(file->path, file->asked, *lane.pipeline, lane.requests, *shared.pool,
                                    number, file->ledger ? file->ledger->problem() : std::string()));
    }
    if (std::string message = file->ledger_message(); !message.empty())
      messages.push_back(std::move(message));
    file.reset();
    any = true;
  }
  if (any && !anything_open()) shared.pool.reset();
  if (shared.pool) (void)share_out();
  return any;
}

bool Core::advance(std::uint64_t now_ns) {
  Impl& core = *impl_;
  const std::uint64_t before_ns = core.shared.now_ns == 0 ? now_ns : core.shared.now_ns;
  core.shared.now_ns = now_ns;
  for (const ChannelId id : core.spoke) {
    core.channels[id].spoke = false;
    core.channels[id].last_ns = now_ns;
  }
  core.spoke.clear();
  core.each_lane([&](OpenFile&, Lane& lane) { lane.pipeline->told_time(now_ns, before_ns); });
  bool moved = core.take_completions();
  core.answers.clear();
  core.each_lane([&](OpenFile&, Lane& lane) { moved |= lane.requests.advance(now_ns, core.answers); });
  moved |= core.advance_ledgers();
  for (const Reply& reply : core.answers) core.answer(reply);
  core.expire();
  core.make_room();
  core.shared.advance_wanted = false;
  core.each_lane([&](OpenFile&, Lane& lane) {
    moved |= lane.pipeline->pump();
    core.shared.advance_wanted |= lane.pipeline->throttled() || lane.pipeline->recalls();
  });
  core.shared.storage.kick();
  core.each_lane([&](OpenFile& file, Lane& lane) {
    if (core.telling) lane.watch.tell(now_ns, file.path, *lane.pipeline, lane.requests, core.reports);
    if (core.tracing) lane.watch.look(now_ns, file.path, *lane.pipeline, lane.requests, core.spans);
  });
  moved |= core.retire();
  return moved;
}

std::uint64_t Core::partial_bytes() const {
  std::uint64_t bytes = 0;
  impl_->each_lane([&](const OpenFile&, const Lane& lane) { bytes += lane.pipeline->partial_bytes(); });
  return bytes;
}

std::vector<Reply> Core::take_replies() { return std::exchange(impl_->replies, {}); }

void Core::trace() { impl_->tracing = true; }

void Core::keep_quiet() { impl_->telling = false; }

std::vector<Span> Core::take_spans() { return std::exchange(impl_->spans, {}); }

std::vector<std::string> Core::take_reports() { return std::exchange(impl_->reports, {}); }

Status Core::error(FileSlot slot) const {
  const OpenFile* file = impl_->file(slot);
  return file != nullptr ? file->error() : Status(Code::invalid);
}

bool Core::dirty(FileSlot slot) const {
  const OpenFile* file = impl_->file(slot);
  return file != nullptr && file->dirty();
}

std::vector<std::string> Core::take_messages() { return std::exchange(impl_->messages, {}); }

bool Core::keeps(FileSlot slot) const {
  const OpenFile* file = impl_->file(slot);
  return file != nullptr && file->ledger && !file->ledger->empty();
}

std::uint64_t Core::ledger_mark(FileSlot slot) const {
  const OpenFile* file = impl_->file(slot);
  return file != nullptr && file->ledger && file->asked.strategy == Strategy::journal ? file->ledger->mark()
                                                                                      : 0;
}

bool Core::kept(FileSlot slot, std::uint64_t mark) const {
  const OpenFile* file = impl_->file(slot);
  return file == nullptr || !file->ledger || file->ledger->given_up() || file->ledger->written() >= mark;
}

std::uint64_t Core::file_number(FileSlot slot) const {
  const OpenFile* file = impl_->file(slot);
  return file != nullptr ? file->number : 0;
}

bool Core::idle() const { return !impl_->anything_open(); }

}  // namespace millrace::agent
