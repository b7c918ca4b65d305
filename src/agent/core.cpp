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
#include "agent/file_pipeline.hpp"
#include "agent/report.hpp"
#include "agent/requests.hpp"
#include "agent/watch.hpp"

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

struct OpenFile {
  dev_t device;
  ino_t inode;
  std::string path;
  FileSettings asked;
  std::unique_ptr<FilePipeline> pipeline;
  Requests requests;
  Watch watch;

  OpenFile(dev_t dev, ino_t ino, std::string name, const FileSettings& settings,
           std::unique_ptr<FilePipeline> way, const std::vector<Channel>& channels)
      : device(dev),
        inode(ino),
        path(std::move(name)),
        asked(settings),
        pipeline(std::move(way)),
        requests(*pipeline, channels) {}
};

struct Core::Impl {
  Shared shared;
  std::vector<std::unique_ptr<OpenFile>> files;  // by slot; null where a slot is free
  std::vector<Channel> channels;                 // by id
  std::vector<Reply> replies;
  std::vector<std::string> reports;
  bool tracing = false;
  std::vector<Span> spans;
  std::vector<io::Completion> completions;

  Impl(io::Storage& storage, std::string journal_directory) : shared{storage, std::move(journal_directory)} {}

  OpenFile* file(FileSlot slot) { return slot < files.size() ? files[slot].get() : nullptr; }
  Status prepare_pool(const FileSettings& settings);
  Result<FileSlot> add(Fd target, const struct stat& about, const transport::Register& registration);
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
    return std::any_of(impl_->files.begin(), impl_->files.end(),
                       [](const auto& file) { return file && !file->pipeline->quiet(); });
  };
  for (const auto& file : impl_->files) {
    if (file) file->pipeline->drop();
  }
  while (busy()) {
    impl_->take_completions();
    for (const auto& file : impl_->files) {
      if (file) file->pipeline->pump();
    }
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

Result<FileSlot> Core::Impl::add(Fd target, const struct stat& about,
                                 const transport::Register& registration) {
  const Status prepared = prepare_pool(registration.settings);
  if (!prepared.ok()) return prepared;
  auto pipeline = FilePipeline::open(shared, std::move(target), registration.settings);
  if (!pipeline) {
    if (!anything_open()) shared.pool.reset();
    return pipeline.status();
  }
  const auto end = std::find(std::begin(registration.path), std::end(registration.path), '\0');
  auto place = std::find(files.begin(), files.end(), nullptr);
  if (place == files.end()) place = files.emplace(files.end());
  *place =
      std::make_unique<OpenFile>(about.st_dev, about.st_ino, std::string(std::begin(registration.path), end),
                                 registration.settings, *std::move(pipeline), channels);
  return static_cast<FileSlot>(place - files.begin());
}

Result<FileSlot> Core::open(ChannelId channel, Fd target, const transport::Register& registration) {
  if (!target.valid() || !sound(registration.settings)) return Code::invalid;
  struct stat about {};
  if (::fstat(target.get(), &about) != 0) return Status::from_errno(errno);
  auto& files = impl_->files;
  const auto same = std::find_if(files.begin(), files.end(), [&](const auto& file) {
    return file && file->device == about.st_dev && file->inode == about.st_ino;
  });
  FileSlot slot = static_cast<FileSlot>(same - files.begin());
  if (same == files.end()) {
    auto added = impl_->add(std::move(target), about, registration);
    if (!added) return added.status();
    slot = *added;
  } else {
    const Status prepared = impl_->prepare_pool(registration.settings);
    if (!prepared.ok()) return prepared;
    if (registration.settings.strategy != files[slot]->asked.strategy)
      files[slot]->asked = registration.settings;
  }
  if (channel >= impl_->channels.size()) impl_->channels.resize(channel + 1);
  files[slot]->requests.join(channel, registration.group, registration.members);
  return slot;
}

bool Core::ready() const {
  const Shared& shared = impl_->shared;
  return !shared.pool || (!shared.advance_wanted && shared.pool->has_room(shared.record_max_bytes));
}

void Core::write(ChannelId channel, FileSlot file, std::uint64_t offset, std::span<const std::byte> data) {
  ++impl_->channels[channel].records;
  impl_->files[file]->pipeline->write(offset, data);
}

void Core::note(ChannelId channel, FileSlot slot, Extent extent) {
  ++impl_->channels[channel].records;
  if (OpenFile* file = impl_->file(slot)) file->pipeline->note(extent);
}

void Core::flush(ChannelId channel, FileSlot slot, std::uint32_t request, Extent extent) {
  if (OpenFile* file = impl_->file(slot)) return file->requests.flush(channel, request, extent);
  impl_->replies.push_back({channel, request, Code::invalid});
}

void Core::sync(ChannelId channel, FileSlot slot, std::uint32_t request) {
  if (OpenFile* file = impl_->file(slot)) return file->requests.sync(channel, request);
  impl_->replies.push_back({channel, request, Code::invalid});
}

void Core::close(ChannelId channel, FileSlot slot, std::uint32_t request,
                 const transport::ClientCounters& counters) {
  if (OpenFile* file = impl_->file(slot)) return file->requests.close(channel, request, counters);
  impl_->replies.push_back({channel, request, Code::invalid});
}

void Core::abandon(ChannelId channel) {
  for (const auto& file : impl_->files) {
    if (file) file->requests.abandon(channel);
  }
  std::erase_if(impl_->replies, [channel](const Reply& reply) { return reply.channel == channel; });
}

bool Core::Impl::take_completions() {
  bool any = false;
  completions.clear();
  shared.storage.poll(completions);
  for (const io::Completion& completion : completions) {
    const std::uint32_t owner = sink::owner_of(completion.token);
    for (const auto& file : files) {
      if (!file || !file->pipeline->owns(owner)) continue;
      file->pipeline->complete(completion);
      break;
    }
    any = true;
  }
  for (const auto& file : files) {
    if (file) any |= file->pipeline->collect();
  }
  return any;
}

bool Core::Impl::evict_one() {
  OpenFile* largest = nullptr;
  for (const auto& file : files) {
    if (!file || file->pipeline->blocks_held() == 0) continue;
    if (largest == nullptr || file->pipeline->blocks_held() > largest->pipeline->blocks_held())
      largest = file.get();
  }
  return largest != nullptr && largest->pipeline->evict();
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
    if (!file || !file->requests.over() || !file->pipeline->quiet()) continue;
    file->watch.end(file->path, spans);
    reports.push_back(make_report(file->path, file->asked, *file->pipeline, file->requests, *shared.pool));
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
  for (const auto& file : core.files) {
    if (file) file->pipeline->told_time(now_ns, before_ns);
  }
  bool moved = core.take_completions();
  for (const auto& file : core.files) {
    if (file) moved |= file->requests.advance(now_ns, core.replies);
  }
  core.make_room();
  core.shared.advance_wanted = false;
  for (const auto& file : core.files) {
    if (!file) continue;
    moved |= file->pipeline->pump();
    core.shared.advance_wanted |= file->pipeline->throttled();
  }
  core.shared.storage.kick();
  for (const auto& file : core.files) {
    if (file)
      file->watch.look(now_ns, file->path, *file->pipeline, file->requests, core.tracing, core.reports,
                       core.spans);
  }
  moved |= core.retire();
  return moved;
}

std::uint64_t Core::next_deadline_ns() const {
  std::uint64_t next = UINT64_MAX;
  for (const auto& file : impl_->files) {
    if (file) next = std::min({next, file->requests.next_deadline_ns(), file->watch.next_deadline_ns()});
  }
  return next;
}

std::uint64_t Core::partial_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& file : impl_->files) {
    if (file) bytes += file->pipeline->partial_bytes();
  }
  return bytes;
}

std::vector<Reply> Core::take_replies() { return std::exchange(impl_->replies, {}); }

void Core::trace() { impl_->tracing = true; }

std::vector<Span> Core::take_spans() { return std::exchange(impl_->spans, {}); }

std::vector<std::string> Core::take_reports() { return std::exchange(impl_->reports, {}); }

Status Core::error(FileSlot slot) const {
  const OpenFile* file = impl_->file(slot);
  return file != nullptr ? file->pipeline->error() : Status(Code::invalid);
}

bool Core::dirty(FileSlot slot) const {
  const OpenFile* file = impl_->file(slot);
  return file != nullptr && file->pipeline->dirty();
}

bool Core::idle() const { return !impl_->anything_open(); }

}  // namespace millrace::agent
