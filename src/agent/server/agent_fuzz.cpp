// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// Uses the fuzzer's bytes as what two ranks, an agent upstream and the next agent send to an agent:
// registrations, frames in rings, lists of wishes, frames over links that hold the key, bytes that were
// wanted. The agent has to be idle once all of them have gone.
#include <sys/epoll.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>

#include "agent/server/rounds.hpp"
#include "io/virtual/memory_storage.hpp"
#include "io/virtual/virtual_net.hpp"

namespace {

using namespace millrace;         // NOLINT: one small program
using namespace millrace::agent;  // NOLINT
using transport::FrameHeader;
using transport::Kind;

constexpr std::uint64_t ring_bytes = 64 * KiB;
constexpr std::uint64_t window_bytes = 64 * KiB;
constexpr std::uint64_t first_tag = std::uint64_t{1} << 32;
constexpr std::uint64_t second_ns = 1'000'000'000;

// Gives out the input, then zeros.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
  bool empty() const { return at_ == end_; }
  unsigned byte() { return empty() ? 0 : *at_++; }
  unsigned word() { return byte() | byte() << 8; }
  std::vector<std::byte> bytes(std::size_t size) {
    std::vector<std::byte> taken(std::min<std::size_t>(size, static_cast<std::size_t>(end_ - at_)));
    if (!taken.empty()) std::memcpy(taken.data(), at_, taken.size());
    at_ += taken.size();
    return taken;
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

transport::LinkKey test_key() { return transport::LinkKey(transport::LinkKey::Bytes{}); }

class World {
 public:
  World() {
    port_ = *links_.listen();
    for (std::uint32_t rank = 0; rank < 2; ++rank) join(rank);
  }
  void play(Input& input);
  void end();

 private:
  void join(std::uint32_t rank);
  transport::Register registration() const;
  void register_file(Input& input);
  FrameHeader frame(Input& input) const;
  void put(Input& input);
  void put_want(Input& input);
  void from_upstream(Input& input);
  void from_next(Input& input);
  void move();
  void rounds(unsigned count);

  io::Timeline timeline_{1};
  io::Trace trace_;
  io::VirtualNet net_{timeline_, trace_, 3, {}};
  io::MemoryStorage storage_{
      io::MemoryOptions{.capacity_bytes = std::uint64_t{4} << 20}};  // inputs have offsets of any size
  Fd files_[2] = {storage_.create(), storage_.create()};
  std::map<std::uint64_t, int> watched_;  // descriptor by tag
  std::unique_ptr<io::Listener> there_ = *net_.of(2).listen();
  std::unique_ptr<transport::AgentPage> page_ = std::make_unique<transport::AgentPage>();
  Links links_{net_.of(0),
               timeline_,
               [this](int descriptor, std::uint32_t events, std::uint64_t tag) {
                 watched_.insert_or_assign(tag, descriptor);
                 if (events == 0) watched_.erase(tag);
               },
               [](const std::string&) {},
               first_tag,
               {}};
  Core core_{storage_, "/nowhere"};
  Rounds rounds_{core_,
                 links_,
                 *page_,
                 timeline_,
                 {[this] { return timeline_.now_ns(); }, [](const std::string&) {}, [](const std::string&) {},
                  [] { return 0; }},
                 250'000'000};
  std::uint16_t port_ = 0;
  transport::Producer rings_[2];
  SenderId ids_[2] = {};
  std::optional<transport::LinkIo> upstream_;
  std::optional<transport::LinkIo> next_;
};

void World::join(std::uint32_t rank) {
  rings_[rank] = *transport::Producer::create(ring_bytes);
  Connection& connection = rounds_.join(Fd());
  transport::Hello hello{};
  hello.ring_bytes = ring_bytes;
  connection.greet(*transport::Consumer::attach(Fd(::dup(rings_[rank].memory())), ring_bytes), hello);
  if (Result<Fd> window = transport::make_memory("fuzz", window_bytes))
    (void)connection.take_window(*std::move(window), window_bytes);
  ids_[rank] = connection.id();
}

// A sound one: this agent is the file server of the first lane, and has a next agent for the second.
transport::Register World::registration() const {
  transport::Register one{};
  one.group = 7;
  one.members = 2;
  one.settings.strategy = Strategy::automatic;
  one.settings.sort_buffer_bytes = 1 * MiB;
  one.settings.record_max_bytes = 4 * KiB;
  one.routing.lanes = 2;
  one.routing.nodes = 3;
  one.routing.stripe_bytes = 1 * MiB;
  one.routing.hops[0].upstreams = 1;
  one.routing.hops[1].next = io::VirtualNet::address_of(2, there_->port());
  one.routing.hops[1].node = 2;
  std::strcpy(one.path, "/data/file");
  return one;
}

void World::register_file(Input& input) {
  const unsigned what = input.byte();
  Connection* const rank = rounds_.find(ids_[what & 1]);
  if (rank == nullptr) return;
  transport::Register one = registration();
  one.reads_only = what >> 1 & 1;
  if ((what & 4) != 0) one.routing.lanes = 0;
  if ((what & 8) != 0) one.group = 8;
  for (unsigned changes = what >> 5; changes > 0; --changes) {
    const std::size_t place = input.word() % sizeof one;
    const auto byte = static_cast<std::byte>(input.byte());
    std::memcpy(reinterpret_cast<std::byte*>(&one) + place, &byte, 1);
  }
  one.path[sizeof one.path - 1] = 0;  // as Reception does
  Fd file((what & 16) != 0 ? -1 : ::dup(files_[input.byte() & 1].get()));
  (void)rounds_.enroll(*rank, one, std::move(file));
}

FrameHeader World::frame(Input& input) const {
  FrameHeader header{};
  header.kind = static_cast<Kind>(input.byte() % 20);
  header.file = input.byte() % 5;
  header.request = input.byte();
  header.offset = std::uint64_t{input.word()} << input.byte() % 50;
  header.span = std::uint64_t{input.word()} << input.byte() % 50;
  return header;
}

void World::put(Input& input) {
  const unsigned what = input.byte();
  transport::Producer& ring = rings_[what & 1];
  FrameHeader header = frame(input);
  const std::vector<std::byte> payload = input.bytes(input.byte());
  header.length = static_cast<std::uint32_t>(payload.size());
  if ((what & 2) == 0)
    header.checksum = transport::record_checksum(payload.data(), header.length, header.offset);
  if (transport::carries_records(header.kind) && (what & 4) == 0) {
    header.request = 0;
    header.span = timeline_.now_ns();
  }
  if (!ring.append(header, payload.data())) return;
  if (transport::is_request(header.kind)) ring.header().requests.fetch_add(1);
  ring.publish();
}

void World::put_want(Input& input) {
  const unsigned what = input.byte();
  transport::Producer& ring = rings_[what & 1];
  FrameHeader header{};
  header.kind = Kind::want;
  header.file = input.byte() % 5;
  header.request = 1 + input.byte();
  header.offset = input.byte() * std::uint64_t{256};
  const std::vector<std::byte> list = input.bytes(input.byte() % 32);
  header.length = static_cast<std::uint32_t>(list.size());
  if (!ring.append(header, list.data())) return;
  ring.header().requests.fetch_add(1);
  ring.publish();
}

void World::from_upstream(Input& input) {
  if (!upstream_) {
    const unsigned who = input.byte();
    Result<std::unique_ptr<io::Stream>> stream = net_.of(1).connect(io::VirtualNet::address_of(0, port_));
    if (!stream) return;
    const transport::LinkIntroduction me{7 + (who & 1), 1, 0, who >> 1 & 3};
    upstream_.emplace(*std::move(stream), transport::Link::connecting(test_key(), me), transport::LinkTimes{},
                      timeline_.now_ns());
  }
  const unsigned what = input.byte();
  FrameHeader header = frame(input);
  const std::vector<std::byte> payload = input.bytes(input.byte());
  if ((what & 1) == 0)
    header.checksum =
        transport::record_checksum(payload.data(), static_cast<std::uint32_t>(payload.size()), header.offset);
  upstream_->link().put(header, payload);
  upstream_->link().flush();
}

void World::from_next(Input& input) {
  if (!next_) {
    Result<std::unique_ptr<io::Stream>> stream = there_->accept();
    if (!stream || *stream == nullptr) return;
    next_.emplace(*std::move(stream),
                  transport::Link::accepting([](const auto&) { return std::optional(test_key()); }),
                  transport::LinkTimes{}, timeline_.now_ns());
  }
  const unsigned what = input.byte();
  if (!next_->link().established()) return move();
  // The agent's own numbers are small.
  FrameHeader header = frame(input);
  const Kind kinds[] = {Kind::reply, Kind::wanted, Kind::wanted, header.kind};
  header.kind = kinds[what & 3];
  if ((what & 4) != 0) header.request %= 8;
  if ((what & 8) != 0) header.offset = 0;
  std::vector<std::byte> payload = input.bytes(input.byte());
  if (header.kind == Kind::reply && (what & 16) != 0)
    payload.assign(sizeof(transport::WireStatus), std::byte{0});
  header.checksum =
      transport::record_checksum(payload.data(), static_cast<std::uint32_t>(payload.size()), header.offset);
  next_->link().put(header, payload);
  next_->link().flush();
}

// All ends of the network send and receive once.
void World::move() {
  for (std::optional<transport::LinkIo>* const other : {&upstream_, &next_}) {
    if (!*other) continue;
    const auto ready = net_.ready((*other)->socket());
    const Status status = (*other)->pump(timeline_.now_ns(), ready.readable || ready.broken, true);
    FrameHeader header{};
    const std::byte* payload = nullptr;
    while ((*other)->link().next(header, payload)) (*other)->link().consume();
    if (!status.ok()) other->reset();
  }
  for (const auto& [tag, descriptor] : std::map(watched_)) {
    const auto ready = net_.ready(descriptor);
    std::uint32_t events = ready.readable ? EPOLLIN : 0U;
    if (ready.writable) events |= EPOLLOUT;
    if (ready.broken) events |= EPOLLHUP;
    if (events != 0) links_.handle(tag, events);
  }
  for (int i = 0; i < 64 && timeline_.step(timeline_.now_ns() + second_ns / 1000); ++i) {
  }
}

void World::rounds(unsigned count) {
  for (; count > 0; --count) {
    move();
    (void)rounds_.go();
  }
}

void World::play(Input& input) {
  while (!input.empty()) {
    switch (const unsigned what = input.byte(); what % 8) {
      case 0:
        register_file(input);
        break;
      case 1:
        put(input);
        break;
      case 2:
        put_want(input);
        break;
      case 3:
        from_upstream(input);
        break;
      case 4:
        from_next(input);
        break;
      case 5:
        if (what < 32) {
          rounds_.drop(ids_[what >> 3 & 1], "");
          join(what >> 3 & 1);
        } else if (what < 64) {
          upstream_.reset();
        } else if (what < 96) {
          next_.reset();
        }
        break;
      default:
        rounds(1 + (what >> 5));
    }
  }
}

// Everybody hangs up.
void World::end() {
  rounds(4);
  for (const SenderId rank : ids_) rounds_.drop(rank, "");
  upstream_.reset();
  next_.reset();
  there_.reset();
  for (int seconds = 0; seconds < 200 && !(core_.idle() && links_.idle()); ++seconds) {
    rounds(8);
    timeline_.after(second_ns, [] {});
    while (timeline_.step(timeline_.now_ns() + second_ns)) {
    }
  }
  if (!core_.idle() || !links_.idle()) std::abort();
  if (!(storage_.misuse() == io::Misuse{})) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  World world;
  world.play(input);
  world.end();
  return 0;
}
