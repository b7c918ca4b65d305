// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/links/downstream.hpp"

#include <cstring>
#include <utility>

#include "transport/bundle.hpp"
#include "transport/ring.hpp"
#include "transport/want_list.hpp"

namespace millrace::agent {

using transport::FrameHeader;
using transport::Kind;

namespace {

// The number of pieces of bytes that wait here for Core. Further ones stay in the link, and the other end
// then stops sending.
constexpr std::size_t wanted_max = 4;

// The way to the next agent over a link. The link queues the frames until it is established.
class LinkCarrier final : public Carrier {
 public:
  LinkCarrier(std::shared_ptr<Downstream> to, std::size_t record_max_bytes, std::function<void()> connect)
      : to_(std::move(to)), bundle_(record_max_bytes), connect_(std::move(connect)) {}
  ~LinkCarrier() override {
    to_->abandoned = true;
    to_->touch();
  }
  LinkCarrier(const LinkCarrier&) = delete;
  LinkCarrier& operator=(const LinkCarrier&) = delete;

  bool has_room() const override { return !to_->io || to_->io->link().has_room(); }
  void write(std::uint64_t offset, std::span<const std::byte> data) override {
    if (bundle_.add(offset, data)) return;
    put_bundle();
    if (!bundle_.add(offset, data)) put_record(Kind::write, offset, data);
  }
  void mark(std::uint64_t offset) override {
    put_bundle();
    FrameHeader frame{};
    frame.kind = Kind::mark;
    frame.offset = offset;
    put(frame, {});
  }
  void request(Kind kind, std::uint32_t request, Extent extent) override {
    put_bundle();
    FrameHeader frame{};
    frame.kind = kind;
    frame.request = request;
    frame.offset = extent.begin;
    frame.span = extent.end == UINT64_MAX ? UINT64_MAX : extent.size();
    put(frame, {});
  }
  void want(std::uint32_t request, std::span<const std::byte> list) override {
    put_bundle();
    std::vector<Extent> extents;
    (void)transport::read_want_list(list, extents);
    std::uint64_t bytes = 0;
    for (const Extent extent : extents) bytes += extent.size();
    to_->wants[request] = {bytes};
    FrameHeader frame{};
    frame.kind = Kind::want;
    frame.request = request;
    put(frame, list);
  }
  void flush() override {
    put_bundle();
    if (!to_->io) return;
    to_->io->link().flush();
    to_->touch();
  }
  void take_answers(std::vector<Answer>& answers) override {
    answers.insert(answers.end(), to_->answers.begin(), to_->answers.end());
    to_->answers.clear();
  }
  bool take_wanted(Wanted& wanted) override {
    if (to_->wanted.empty()) return false;
    wanted = std::move(to_->wanted.front());
    to_->wanted.pop_front();
    to_->touch();
    return true;
  }
  Status status() const override { return to_->status; }

 private:
  void put_record(Kind kind, std::uint64_t offset, std::span<const std::byte> data) {
    FrameHeader frame{};
    frame.kind = kind;
    frame.length = static_cast<std::uint32_t>(data.size());
    frame.offset = offset;
    frame.checksum = transport::record_checksum(data.data(), frame.length, offset);
    put(frame, data);
  }
  void put_bundle() {
    if (bundle_.empty()) return;
    put_record(Kind::records, bundle_.offset(), bundle_.payload());
    bundle_.clear();
  }
  void put(const FrameHeader& frame, std::span<const std::byte> payload) {
    if (!to_->io && to_->status.ok()) connect_();
    if (!to_->io) return;
    to_->io->link().put(frame, payload);
    to_->touch();
  }

  std::shared_ptr<Downstream> to_;
  transport::Bundle bundle_;
  std::function<void()> connect_;
};

}  // namespace

Status Downstream::connect(millrace::io::Net& net, const transport::LinkTimes& times, std::uint64_t now_ns) {
  auto stream = net.connect(address);
  if (!stream) {
    status = Status(Code::lost_peer, stream.status().error());
    return status;
  }
  io.emplace(*std::move(stream), transport::Link::connecting(key, introduction), times, now_ns);
  return {};
}

void Downstream::listen() {
  FrameHeader frame{};
  const std::byte* payload = nullptr;
  while (wanted.size() < wanted_max && io->link().next(frame, payload)) {
    transport::WireStatus reply{};
    if (frame.kind == Kind::wanted) {
      if (status.ok()) status = take_wanted(frame, payload);
    } else if (frame.kind != Kind::reply || frame.length != sizeof reply) {
      if (status.ok()) status = Code::corrupt;
    } else if (frame.request == no_request) {
      ++progress;
    } else {
      std::memcpy(&reply, payload, sizeof reply);
      wants.erase(frame.request);
      answers.push_back({frame.request, reply.status()});
    }
    io->link().consume();
  }
}

// The next bytes of a list that is on its way.
Status Downstream::take_wanted(const FrameHeader& frame, const std::byte* payload) {
  const auto want = wants.find(frame.request);
  if (want == wants.end() || frame.length == 0 || frame.offset != want->second.come ||
      frame.length > want->second.bytes - want->second.come ||
      transport::record_checksum(payload, frame.length, frame.offset) != frame.checksum)
    return Code::corrupt;
  want->second.come += frame.length;
  wanted.push_back({frame.request, {payload, payload + frame.length}});
  return {};
}

std::unique_ptr<Carrier> make_carrier(std::shared_ptr<Downstream> to, std::size_t record_max_bytes,
                                      std::function<void()> connect) {
  return std::make_unique<LinkCarrier>(std::move(to), record_max_bytes, std::move(connect));
}

}  // namespace millrace::agent
