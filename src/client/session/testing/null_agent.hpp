// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "client/session/session.hpp"
#include "transport/memory.hpp"

namespace millrace::client::testing {

// The contact with an agent that agrees to everything.
class NullContact final : public Contact {
 public:
  std::uint64_t now_ns() const override { return transport::now_ns(); }
  void wait_while(const std::atomic<std::uint32_t>&, std::uint32_t, std::uint32_t) override {}
  void pause(std::uint32_t) override {}
  bool hung_up() override { return false; }
  void wake() override {}
  Status send(std::span<const std::byte>, std::initializer_list<int>) override { return {}; }
  bool wait_answer(std::uint32_t) override { return true; }
  Result<std::size_t> receive(std::span<std::byte> answer) override {
    std::ranges::fill(answer, std::byte{0});
    return answer.size();
  }
  void hang_up() override {}
  void say(const std::string&) override {}
};

// A session whose agent takes all records at once and drops them, so that only the rank's part is measured.
class NullAgent {
 public:
  explicit NullAgent(bool serialized = true) {
    Result<transport::Producer> producer = transport::Producer::create(1 * MiB);
    header_ = &producer->header();
    Result<Fd> memory = transport::make_memory("page", sizeof(transport::AgentPage));
    Result<transport::Mapping> page = transport::map(memory->get(), sizeof(transport::AgentPage));
    reinterpret_cast<transport::AgentPage*>(page->data())->stamp_clock =
        static_cast<std::uint32_t>(transport::choose_stamp_clock());
    session = std::make_unique<Session>(SessionParts{*std::move(producer), *std::move(page),
                                                     std::make_unique<NullContact>(), 60'000, serialized});
  }
  // Call it at least once per half ring of records.
  void take_all() { header_->head.store(header_->tail.load()); }

  std::uint64_t bytes_in_ring() const { return header_->tail.load() - header_->head.load(); }

  std::unique_ptr<Session> session;

 private:
  transport::RingHeader* header_ = nullptr;
};

}  // namespace millrace::client::testing
