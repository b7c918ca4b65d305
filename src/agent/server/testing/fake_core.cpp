// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// A Core for tests of the process around it: no buffer, no order, blocking writes. MILLRACED_FAKE changes
// that. "hold" keeps records until a flush, sync or close, or until no rank has the file open. "keep" keeps
// them until a flush, sync or close. "stuck" takes no record. "late" answers after 0.8 s.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <string>

#include "agent/core/core.hpp"

namespace millrace::agent {

namespace {

struct Record {
  std::uint64_t offset;
  std::vector<std::byte> data;
};

struct Target {
  Fd fd;
  dev_t device = 0;
  ino_t inode = 0;
  std::uint64_t records = 0;
  std::map<SenderId, int> opens;
  std::vector<Record> held;
  Status error;
};

}  // namespace

struct Core::Impl {
  std::vector<Target> targets;
  std::vector<Reply> replies;
  std::vector<std::string> reports;
  bool hold = false;
  bool keep = false;
  bool stuck = false;
  bool late = false;
  std::uint64_t taken_bytes = 0;
  std::uint64_t answers_ns = UINT64_MAX;

  static void put(Target& target, std::uint64_t offset, std::span<const std::byte> data) {
    while (!data.empty()) {
      const ssize_t wrote = ::pwrite(target.fd.get(), data.data(), data.size(), static_cast<off_t>(offset));
      if (wrote < 0 && errno != EINTR) {
        target.error = Status::from_errno(errno);
        return;
      }
      if (wrote <= 0) continue;
      offset += static_cast<std::uint64_t>(wrote);
      data = data.subspan(static_cast<std::size_t>(wrote));
    }
  }
  static void settle(Target& target) {
    for (const Record& record : target.held) put(target, record.offset, record.data);
    target.held.clear();
  }
  void leave(Target& target, SenderId sender, bool whole) {
    const auto found = target.opens.find(sender);
    if (found == target.opens.end()) return;
    if (whole || --found->second == 0) target.opens.erase(found);
    if (!target.opens.empty() || (keep && !target.held.empty())) return;
    settle(target);
    reports.push_back(
        "{\"kind\":\"agent\",\"path\":\"fake\",\"records_in\":" + std::to_string(target.records) + "}");
    target = {};
  }
};

// NOLINTNEXTLINE(performance-unnecessary-value-param): the signature is the contract's
Core::Core(io::Storage&, std::string) : impl_(std::make_unique<Impl>()) {
  const char* fake = std::getenv("MILLRACED_FAKE");
  impl_->keep = fake != nullptr && std::string_view(fake) == "keep";
  impl_->hold = impl_->keep || (fake != nullptr && std::string_view(fake) == "hold");
  impl_->stuck = fake != nullptr && std::string_view(fake) == "stuck";
  impl_->late = fake != nullptr && std::string_view(fake) == "late";
}
Core::~Core() = default;

Result<FileSlot> Core::open(SenderId sender, Fd target, const transport::Register&, Route route) {
  route.lanes.clear();  // this Core knows no other node
  struct stat status = {};
  if (::fstat(target.get(), &status) != 0) return Status::from_errno(errno);
  std::size_t slot = impl_->targets.size();
  for (std::size_t i = 0; i < impl_->targets.size(); ++i) {
    const Target& known = impl_->targets[i];
    if (known.fd.valid() && known.device == status.st_dev && known.inode == status.st_ino) {
      slot = i;
      break;
    }
    if (!known.fd.valid()) slot = i;
  }
  if (slot == impl_->targets.size()) impl_->targets.emplace_back();
  Target& chosen = impl_->targets[slot];
  if (!chosen.fd.valid()) {
    chosen.fd = std::move(target);
    chosen.device = status.st_dev;
    chosen.inode = status.st_ino;
  }
  ++chosen.opens[sender];
  return static_cast<FileSlot>(slot);
}

std::uint64_t Core::file_number(FileSlot file) const {
  return file < impl_->targets.size() && impl_->targets[file].fd.valid() ? 1 : 0;
}

Status Core::join(SenderId, FileSlot, std::uint32_t, std::uint64_t) { return Code::unsupported; }

bool Core::ready() const { return !impl_->stuck; }
bool Core::ready(FileSlot, std::uint32_t) const { return ready(); }
bool Core::holds_back(SenderId, FileSlot, std::uint32_t) const { return false; }
void Core::mark(SenderId, FileSlot, std::uint64_t) {}

void Core::write(SenderId, FileSlot file, std::uint64_t offset, std::span<const std::byte> data,
                 std::uint64_t) {
  Target& target = impl_->targets[file];
  ++target.records;
  impl_->taken_bytes += data.size();
  if (impl_->hold) {
    target.held.push_back({offset, {data.begin(), data.end()}});
  } else {
    Impl::put(target, offset, data);
  }
}

Core::Bundled Core::write_bundle(SenderId sender, FileSlot file, std::uint64_t offset,
                                 std::span<const std::byte> payload, transport::Unbundler& at,
                                 std::uint64_t) {
  Bundled bundled;
  transport::Unbundler::Unbundled record{};
  for (; at.next(offset, payload, record) == transport::Unbundler::Found::record; at.taken()) {
    write(sender, file, record.offset, record.data);
    ++bundled.records;
  }
  if (at.next(offset, payload, record) == transport::Unbundler::Found::corrupt)
    bundled.end = Bundled::BundleEnd::corrupt;
  at = {};
  return bundled;
}

void Core::note(SenderId, FileSlot, Extent) {}

void Core::ask(transport::Kind kind, SenderId sender, FileSlot file, std::uint32_t request, Extent) {
  if (kind != transport::Kind::arrive) Impl::settle(impl_->targets[file]);
  impl_->replies.push_back({sender, request, impl_->targets[file].error});
}

void Core::want(SenderId sender, FileSlot, std::uint32_t request, std::span<const Extent>) {
  impl_->replies.push_back({sender, request, Code::unsupported});
}

bool Core::pass_read(ReadTaker&) { return false; }

void Core::close(SenderId sender, FileSlot file, std::uint32_t request, const transport::ClientCounters&,
                 bool /*withdrawn*/) {
  Impl::settle(impl_->targets[file]);
  const Status status = impl_->targets[file].error;
  impl_->leave(impl_->targets[file], sender, false);
  impl_->replies.push_back({sender, request, status});
}

void Core::abandon(SenderId sender) {
  for (Target& target : impl_->targets) impl_->leave(target, sender, true);
}

bool Core::advance(std::uint64_t now_ns) {
  if (!impl_->late || impl_->replies.empty()) return false;
  if (impl_->answers_ns == UINT64_MAX) impl_->answers_ns = now_ns + 800'000'000;
  if (now_ns >= impl_->answers_ns) impl_->answers_ns = UINT64_MAX;
  return false;
}
std::uint64_t Core::next_deadline_ns() const { return impl_->answers_ns; }

Core::Partial Core::partial() const { return {0, 1}; }
void Core::set_bounds(const Bounds&) {}
std::uint64_t Core::look_every_ns() const { return UINT64_MAX; }
void Core::write_out() {}
std::vector<Reply> Core::take_replies() {
  return impl_->answers_ns == UINT64_MAX ? std::exchange(impl_->replies, {}) : std::vector<Reply>();
}
void Core::follow(bool, bool) {}
std::vector<Span> Core::take_spans() { return {}; }
bool Core::keeps(FileSlot) const { return false; }
bool Core::end() { return true; }
Core::Look Core::look(FileSlot file) const {
  if (file >= impl_->targets.size()) return {};
  return {.identity = {.device = impl_->targets[file].device, .inode = impl_->targets[file].inode}};
}
std::uint64_t Core::ledger_mark(FileSlot) const { return 0; }
bool Core::kept(FileSlot, std::uint64_t) const { return true; }
Core::News Core::take_news() { return {{}, std::exchange(impl_->reports, {}), {}, impl_->taken_bytes, 0}; }
Status Core::error(FileSlot file) const { return impl_->targets[file].error; }
bool Core::dirty(FileSlot file) const { return !impl_->targets[file].held.empty(); }
bool Core::idle() const {
  for (const Target& target : impl_->targets) {
    if (target.fd.valid()) return false;
  }
  return true;
}

}  // namespace millrace::agent
