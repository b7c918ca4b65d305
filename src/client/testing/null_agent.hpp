// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "client/session.hpp"
#include "client/socket_contact.hpp"

namespace millrace::client::testing {

// A session whose agent takes everything at once and does nothing with it: what is measured is the rank's
// part.
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
                                                     std::make_unique<SocketContact>(Fd(), Fd()), 60'000,
                                                     serialized});
  }
  // Call at least once per half ring of records.
  void take_all() { header_->head.store(header_->tail.load()); }

  std::unique_ptr<Session> session;

 private:
  transport::ChannelHeader* header_ = nullptr;
};

}  // namespace millrace::client::testing
