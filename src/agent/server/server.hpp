// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "agent/core/core.hpp"
#include "agent/links/links.hpp"
#include "agent/server/epoll.hpp"
#include "agent/server/reception.hpp"
#include "agent/server/rounds.hpp"
#include "agent/server/trace.hpp"
#include "transport/presence.hpp"
#include "transport/tcp_net.hpp"

namespace millrace::agent {

struct ServerOptions {
  std::string name;                        // abstract socket to listen at
  Fd socket;                               // has the name already; invalid: none
  std::string directory;                   // of journals
  Core::Bounds bounds;                     // of Core; the server adds the agent's number
  std::string stats_path;                  // Core's reports are appended here; empty: off
  std::string trace_directory;             // spans of the phases, as a Chrome trace; empty: off
  std::string log_path;                    // errors that no rank can receive; empty: off
  std::uint64_t first_linger_ms = 10'000;  // time to wait for the first rank
  std::uint64_t linger_ms = 2'000;         // time to stay without ranks
  std::uint64_t timeout_ms = 60'000;       // the ranks' bound on waits without progress
};

// The agent's process around Core and its rounds: an event loop over the listening socket, the ranks'
// sockets, links and Storage's completions. Sleeps in epoll when there is nothing to do. One thread.
class Server {
 public:
  Server(Core& core, int storage_event_fd, ServerOptions options);
  ~Server();

  // From here on ranks can connect. errno EADDRINUSE: another agent serves this job.
  Status start();
  // Serves until no rank or agent needs this agent. After SIGTERM or SIGINT it writes its records to the
  // files, continues to serve its ranks, and leaves after the last of them.
  void run();
  // run() has thrown std::bad_alloc: tells the ranks and the log.
  void tell_no_memory();

 private:
  // Tags in epoll; ranks follow from tag_first_rank on.
  static constexpr std::uint64_t tag_listener = 0, tag_wake = 1, tag_storage = 2, tag_signals = 3;
  static constexpr std::uint64_t tag_first_rank = 16, tag_first_link = std::uint64_t{1} << 32;

  Status make_page();
  Result<Fd> listen_at_name();
  void sleep();
  void listen(int timeout_ms);
  void handle(std::uint64_t tag, std::uint32_t events);
  void note_alone();
  std::uint64_t leaves_ns();
  bool may_leave();
  void tell(const std::string& line);
  void log(const std::string& line, const char* level = "warning");

  Core& core_;
  int storage_event_fd_;
  ServerOptions options_;
  Epoll epoll_;
  Fd wake_, signals_;
  transport::Presence presence_;  // from start() on
  SpanTrace trace_;
  transport::TcpNet net_;
  transport::SystemClock time_;
  Links links_;
  std::unique_ptr<Rounds> rounds_;      // from start() on
  std::optional<Reception> reception_;  // from start() on
  bool leaving_ = false;                // SIGTERM or SIGINT has come: waits for no further ranks
  bool alone_ = true;                   // there was no rank at the last note_alone()
  std::uint64_t alone_since_ns_ = 0;
  std::uint64_t listened_ns_ = 0;  // the last look at epoll
};

}  // namespace millrace::agent
