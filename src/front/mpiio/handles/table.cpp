// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/handles/table.hpp"

#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "client/file/agent_reads.hpp"
#include "client/open/own_process.hpp"

namespace millrace::front {

constinit thread_local ThreadState thread_state;
std::atomic<std::uint64_t> files_generation{1};

namespace {

struct OpenFiles {
  std::shared_mutex lock;
  std::unordered_map<MPI_File, std::unique_ptr<Open>> files;
  std::atomic<std::uint32_t> ordered{0};  // files for which is_ordered() is true
};

// Never destroyed, because the MPI library may still call hooks from its exit handlers.
OpenFiles& table() {
  static OpenFiles& one = *new OpenFiles;
  return one;
}

bool is_ordered(const Open& open) {
  return open.nodes.routed || open.file->settings().strategy == Strategy::journal || open.nodes.bypassed ||
         open.guest || open.reads.reader != nullptr || !open.writable;
}

}  // namespace

Open* find_slowly(Remembered& place, MPI_File handle) {
  const std::uint64_t generation = files_generation.load(std::memory_order_acquire);
  const std::shared_lock guard(table().lock);
  const auto found = table().files.find(handle);
  place = {generation, handle, found == table().files.end() ? nullptr : found->second.get()};
  return place.open;
}

void add(std::unique_ptr<Open> open) {
  const std::unique_lock guard(table().lock);
  table().ordered += is_ordered(*open) ? 1 : 0;
  const MPI_File handle = open->handle;
  table().files[handle] = std::move(open);
  files_generation.fetch_add(1, std::memory_order_release);
}

std::unique_ptr<Open> remove(MPI_File handle) {
  const std::unique_lock guard(table().lock);
  const auto found = table().files.find(handle);
  if (found == table().files.end()) return nullptr;
  std::unique_ptr<Open> open = std::move(found->second);
  table().ordered -= is_ordered(*open) ? 1 : 0;
  table().files.erase(found);
  files_generation.fetch_add(1, std::memory_order_release);
  return open;
}

void add_guest(MPI_File handle, const std::string& path) {
  client::Plan plan;
  plan.file = client::open(client::guest_of(path, client::process_settings().file));
  std::unique_ptr<Open> open = open_of(handle, path, plan);
  open->guest = true;
  open->writable = false;
  add(std::move(open));
}

namespace {

template <class Act>
void each_of_same_file(std::uint64_t number, Act act) {
  const std::shared_lock guard(table().lock);
  for (const auto& [handle, open] : table().files) {
    if (number != 0 && open->file->number() == number) act(*open);
  }
}

bool is_writable(const Open& open) {
  int amode = MPI_MODE_RDONLY;
  return PMPI_File_get_amode(open.handle, &amode) == MPI_SUCCESS && (amode & MPI_MODE_RDONLY) == 0;
}

void leave_agents(Open& open) {
  if (open.reads.through.exchange(client::Through::none) != client::Through::none)
    open.file->agent_reads()->stop();
}

}  // namespace

void leave_copy(Open& open) {
  if (open.reading() == open.handle || open.first.location != Open::Location::everywhere) return;
  MPI_Offset position = 0;
  if (PMPI_File_get_position(open.reading(), &position) == MPI_SUCCESS)
    call<Slot::MPI_File_seek>(Entry::pmpi, open.handle, position, MPI_SEEK_SET);
  open.reads.reader->left = true;
}

HandlesOfFile handles_of(const std::string& path, std::uint64_t number) {
  HandlesOfFile found;
  each_of_same_file(number, [&found](const Open& open) {
    found.bypassed |= open.nodes.bypassed;
    found.routed |= open.nodes.routed;
    found.written |= open.written;
    found.writable |= is_writable(open);
    found.plain |=
        !open.nodes.routed && open.reads.through == client::Through::none && open.file->registered();
  });
  const std::shared_lock guard(table().lock);
  for (const auto& [handle, open] : table().files) {
    const bool by_stand_in = open->first.location == Open::Location::elsewhere && open->path == path;
    found.writable |= by_stand_in && open->writable;
  }
  return found;
}

void bypass_same_file(std::uint64_t number, client::Reason reason) {
  each_of_same_file(number, [reason](const Open& open) {
    if (!open.nodes.bypassed) (void)open.file->bar(reason);
  });
}

void note_write(Open& open, bool on_all) {
  if (on_all && open.reads.until_written) open.reads.alone = false;
  if (open.written.load(std::memory_order_relaxed) || open.written.exchange(true)) return;
  leave_agents(open);
  each_of_same_file(open.file->number(), [](Open& other) {
    leave_copy(other);
    if (!other.reads.until_written || other.written.exchange(true)) return;
    leave_agents(other);
  });
}

Status publish_others(Open& open) {
  Status first;
  const std::shared_lock guard(table().lock);
  for (const auto& [handle, other] : table().files) {
    const bool has_written =
        other->first.location == Open::Location::elsewhere && other->writable && other->written;
    if (!has_written || other.get() == &open || other->first.name != open.first.name) continue;
    leave_agents(open);  // they may have read older bytes ahead
    const Status status = other->file->flush(Before::others_read);
    if (first.ok()) first = status;
  }
  return first;
}

void agree_on_writes(Open& open) {
  if (!open.reads.until_written || !open.reads.alone || all_ranks(open, !open.written)) return;
  open.reads.alone = false;
  leave_agents(open);
}

std::vector<Open*> all_files() {
  std::vector<Open*> all;
  const std::shared_lock guard(table().lock);
  for (const auto& [handle, open] : table().files) all.push_back(open.get());
  return all;
}

void order_files() {
  if (table().ordered.load(std::memory_order_relaxed) == 0) return;
  const std::shared_lock guard(table().lock);
  for (const auto& [handle, open] : table().files) {
    if (is_ordered(*open)) (void)open->file->flush(Before::others_write);
  }
}

}  // namespace millrace::front
