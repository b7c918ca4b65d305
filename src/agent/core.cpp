// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/core.hpp"

#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "agent/block_pool.hpp"
#include "agent/open_file.hpp"
#include "agent/report.hpp"

namespace millrace::agent {

namespace {

constexpr std::uint64_t window_max_bytes = 16 * MiB;  // at least so much is kept free or on its way out

bool sound(const FileSettings& settings) {
  return settings.sort_buffer_bytes >= MiB && std::has_single_bit(settings.record_max_bytes) &&
         settings.record_max_bytes >= 4 * KiB && settings.record_max_bytes <= MiB &&
         settings.strategy <= Strategy::journal && settings.durability <= Durability::disk &&
         settings.sink <= SinkMode::direct;
}

}  // namespace

// A request that several lanes have to answer.
struct Spread {
  ChannelId channel;
  std::uint32_t request;
  std::size_t lanes;  // that have not answered
  Status status;
};

struct Core::Impl {
  Shared shared;
  std::vector<std::unique_ptr<OpenFile>> files;  // by slot; null where a slot is free
  std::vector<Channel> channels;                 // by id
  std::uint64_t files_opened = 0;
  std::vector<Spread> spreads;
  std::vector<Reply> answers;  // of lanes; scratch
  std::vector<Reply> replies;
  std::vector<std::string> reports;
  bool tracing = false;
  std::vector<Span> spans;
  std::vector<io::Completion> completions;

  Impl(io::Storage& storage, std::string journal_directory) : shared{storage, std::move(journal_directory)} {}

  OpenFile* file(FileSlot slot) { return slot < files.size() ? files[slot].get() : nullptr; }
  template <class Do>
  void each_lane(Do&& act) const {
    for (const auto& file : files) {
      if (!file) continue;
      for (const auto& lane : file->lanes) act(*file, *lane);
    }
  }
  Status prepare_pool(const FileSettings& settings);
  Result<FileSlot> add(Fd target, const struct stat& about, const transport::Register& registration,
                       Route route);
  template <class Ask>
  void ask(ChannelId channel, FileSlot slot, std::uint32_t request, Ask&& ask_lane);
  void answer(const Reply& reply);
  bool take_completions();
  void make_room();
  bool evict_one();
  bool retire();
  bool anything_open() const;
};

Core::Core(io::Storage& storage, std::string journal_directory)
    : impl_(std::make_unique<Impl>(storage, std::move(journal_directory))) {}

// What is in flight points into our memory: it has to end first. What is not in flight yet is dropped.
Core::~Core() {
  const auto busy = [this] {
    bool any = false;
    impl_->each_lane([&](const OpenFile&, const Lane& lane) { any |= !lane.pipeline->quiet(); });
    return any;
  };
  impl_->each_lane([](OpenFile&, Lane& lane) { lane.pipeline->drop(); });
  while (busy()) {
    impl_->take_completions();
    impl_->each_lane([](OpenFile&, Lane& lane) { lane.pipeline->pump(); });
    impl_->shared.storage.kick();
    pollfd ready{impl_->shared.storage.event_fd(), POLLIN, 0};
    if (ready.fd >= 0 && busy()) (void)::poll(&ready, 1, 100);
  }
}

Status Core::Impl::prepare_pool(const FileSettings& settings) {
  const std::uint32_t record_max = static_cast<std::uint32_t>(settings.record_max_bytes);
  if (!shared.pool) {
    shared.pool = std::make_unique<BlockPool>(settings.sort_buffer_bytes, settings.record_max_bytes);
    shared.record_max_bytes = 0;
  }
  const BlockPool& pool = *shared.pool;
  // Two of its records at least, or nothing would overlap.
  if (pool.spans(record_max) * 2 > pool.blocks.count()) return Code::unsupported;
  shared.record_max_bytes = std::max(shared.record_max_bytes, record_max);
  const std::uint64_t window =
      std::min<std::uint64_t>(pool.blocks.count() / 4, window_max_bytes >> pool.block_shift());
  shared.window_blocks =
      std::max({static_cast<std::uint32_t>(window), pool.spans(shared.record_max_bytes), pool.slots()});
  return {};
}

Result<FileSlot> Core::Impl::add(Fd target, const struct stat& about, const transport::Register& registration,
                                 Route route) {
  const Status prepared = prepare_pool(registration.settings);
  if (!prepared.ok()) return prepared;
  auto file = OpenFile::open(shared, std::move(target), about, registration, std::move(route), channels);
  if (!file) {
    if (!anything_open()) shared.pool.reset();
    return file.status();
  }
  auto place = std::find(files.begin(), files.end(), nullptr);
  if (place == files.end()) place = files.emplace(files.end());
  (*file)->number = ++files_opened;
  *place = *std::move(file);
  return static_cast<FileSlot>(place - files.begin());
}

Result<FileSlot> Core::open(ChannelId channel, Fd target, const transport::Register& registration,
                            Route route) {
  if (!target.valid() || !sound(registration.settings)) return Code::invalid;
  struct stat about {};
  if (::fstat(target.get(), &about) != 0) return Status::from_errno(errno);
  auto& files = impl_->files;
  const auto same = std::find_if(files.begin(), files.end(), [&](const auto& file) {
    return file && file->device == about.st_dev && file->inode == about.st_ino;
  });
  FileSlot slot = static_cast<FileSlot>(same - files.begin());
  if (same == files.end()) {
    auto added = impl_->add(std::move(target), about, registration, std::move(route));
    if (!added) return added.status();
    slot = *added;
  } else {
    const Status prepared = impl_->prepare_pool(registration.settings);
    if (!prepared.ok()) return prepared;
    if (registration.settings.strategy != files[slot]->asked.strategy)
      files[slot]->asked = registration.settings;
  }
  if (channel >= impl_->channels.size()) impl_->channels.resize(channel + 1);
  for (const auto& lane : files[slot]->lanes) {
    const std::uint32_t expected = registration.members == 0 ? 0 : registration.members + lane->upstreams;
    lane->requests.join(channel, registration.group, expected);
  }
  return slot;
}

Status Core::join(ChannelId channel, FileSlot slot, std::uint32_t lane, std::uint64_t group) {
  OpenFile* file = impl_->file(slot);
  if (file == nullptr) return Code::invalid;
  lane %= static_cast<std::uint32_t>(file->lanes.size());  // fewer, if the file was open here before
  if (channel >= impl_->channels.size()) impl_->channels.resize(channel + 1);
  file->lanes[lane]->requests.join(channel, group, 0, true);
  return {};
}

bool Core::ready() const {
  const Shared& shared = impl_->shared;
  return !shared.pool || (!shared.advance_wanted && shared.pool->has_room(shared.record_max_bytes));
}

void Core::write(ChannelId channel, FileSlot file, std::uint64_t offset, std::span<const std::byte> data) {
  ++impl_->channels[channel].records;
  impl_->files[file]->write(offset, data);
}

void Core::note(ChannelId channel, FileSlot slot, Extent extent) {
  ++impl_->channels[channel].records;
  if (OpenFile* file = impl_->file(slot)) file->lanes.front()->pipeline->note(extent);
}

// Asks every lane in which the channel has a part.
template <class Ask>
void Core::Impl::ask(ChannelId channel, FileSlot slot, std::uint32_t request, Ask&& ask_lane) {
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
  if (asked == 0) ask_lane(*open->lanes.front(), true);
  if (asked > 1) spreads.push_back({channel, request, asked, {}});
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

void Core::sync(ChannelId channel, FileSlot slot, std::uint32_t request) {
  impl_->ask(channel, slot, request, [&](Lane& lane, bool) { lane.requests.sync(channel, request); });
}

void Core::close(ChannelId channel, FileSlot slot, std::uint32_t request,
                 const transport::ClientCounters& counters) {
  impl_->ask(channel, slot, request, [&](Lane& lane, bool first) {
    lane.requests.close(channel, request, first ? counters : transport::ClientCounters{});
  });
}

void Core::abandon(ChannelId channel) {
  impl_->each_lane([&](OpenFile&, Lane& lane) { lane.requests.abandon(channel); });
  const auto of_channel = [channel](const auto& one) { return one.channel == channel; };
  std::erase_if(impl_->spreads, of_channel);
  std::erase_if(impl_->replies, of_channel);
}

bool Core::Impl::take_completions() {
  bool any = false;
  completions.clear();
  shared.storage.poll(completions);
  for (const io::Completion& completion : completions) {
    const std::uint32_t owner = sink::owner_of(completion.token);
    each_lane([&](OpenFile&, Lane& lane) {
      if (lane.pipeline->owns(owner)) lane.pipeline->complete(completion);
    });
    any = true;
  }
  each_lane([&](OpenFile&, Lane& lane) { any |= lane.pipeline->collect(); });
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
  const BlockPool& pool = *shared.pool;
  const auto short_of = [](const LazyPool& items) {
    return items.available() <= std::max(2U, items.count() / 8);
  };
  while (pool.blocks.available() + shared.leaving_blocks < shared.window_blocks ||
         (shared.leaving_blocks < shared.window_blocks &&
          (short_of(pool.fine_maps) || pool.chunks.available() <= shared.window_blocks / 8 ||
           !pool.has_room(shared.record_max_bytes)))) {
    if (!evict_one()) break;
  }
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
      reports.push_back(
          make_report(file->path, file->asked, *lane.pipeline, lane.requests, *shared.pool, number));
    }
    file.reset();
    any = true;
  }
  if (any && !anything_open()) shared.pool.reset();
  return any;
}

bool Core::advance(std::uint64_t now_ns) {
  Impl& core = *impl_;
  const std::uint64_t before_ns = core.shared.now_ns == 0 ? now_ns : core.shared.now_ns;
  core.shared.now_ns = now_ns;
  for (Channel& channel : core.channels) {
    if (channel.records == channel.seen) continue;
    channel.seen = channel.records;
    channel.last_ns = now_ns;
  }
  core.each_lane([&](OpenFile&, Lane& lane) { lane.pipeline->told_time(now_ns, before_ns); });
  bool moved = core.take_completions();
  core.answers.clear();
  core.each_lane([&](OpenFile&, Lane& lane) { moved |= lane.requests.advance(now_ns, core.answers); });
  for (const Reply& reply : core.answers) core.answer(reply);
  core.make_room();
  core.shared.advance_wanted = false;
  core.each_lane([&](OpenFile&, Lane& lane) {
    moved |= lane.pipeline->pump();
    core.shared.advance_wanted |= lane.pipeline->throttled();
  });
  core.shared.storage.kick();
  core.each_lane([&](OpenFile& file, Lane& lane) {
    lane.watch.look(now_ns, file.path, *lane.pipeline, lane.requests, core.tracing, core.reports, core.spans);
  });
  moved |= core.retire();
  return moved;
}

std::uint64_t Core::next_deadline_ns() const {
  std::uint64_t next = UINT64_MAX;
  impl_->each_lane([&](const OpenFile&, const Lane& lane) {
    next = std::min({next, lane.requests.next_deadline_ns(), lane.watch.next_deadline_ns()});
  });
  return next;
}

std::uint64_t Core::partial_bytes() const {
  std::uint64_t bytes = 0;
  impl_->each_lane([&](const OpenFile&, const Lane& lane) { bytes += lane.pipeline->partial_bytes(); });
  return bytes;
}

std::vector<Reply> Core::take_replies() { return std::exchange(impl_->replies, {}); }

void Core::trace() { impl_->tracing = true; }

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

std::uint64_t Core::file_number(FileSlot slot) const {
  const OpenFile* file = impl_->file(slot);
  return file != nullptr ? file->number : 0;
}

bool Core::idle() const { return !impl_->anything_open(); }

}  // namespace millrace::agent
