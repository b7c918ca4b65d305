// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/connection.hpp"
#include "agent/core.hpp"
#include "agent/file_states.hpp"
#include "agent/links.hpp"
#include "agent/trace.hpp"
#include "transport/memory.hpp"
#include "transport/stamp.hpp"
#include "transport/tcp_net.hpp"

namespace millrace::agent {

struct ServerOptions {
  std::string name;                        // abstract socket to listen at
  std::string stats_path;                  // Core's reports are appended here; empty = off
  std::string trace_directory;             // spans of the stages, as a Chrome trace; empty = off
  std::string log_path;                    // errors that no rank can be told; empty = off
  std::uint64_t first_linger_ms = 10'000;  // how long to wait for the first rank
  std::uint64_t linger_ms = 2'000;         // how long to stay without ranks
  std::uint64_t timeout_ms = 60'000;       // the ranks' bound on waits without progress
};

// The agent's process around Core: an event loop over the listening socket, the ranks' sockets and rings,
// and Storage's completions. Sleeps in epoll when there is nothing to do. One thread.
class Server {
 public:
  Server(Core& core, int storage_event_fd, ServerOptions options);
  ~Server();

  // Listens; from here on ranks can connect. errno EADDRINUSE: another agent has this job.
  Status start();
  // Serves until nobody needs the agent any more, or a signal asks it to drain and leave.
  void run();

 private:
  enum class Pass { idle, worked, blocked, held };

  // Tags in epoll; ranks follow from tag_first_rank on.
  static constexpr std::uint64_t tag_listener = 0, tag_wake = 1, tag_storage = 2, tag_signals = 3;
  static constexpr std::uint64_t tag_first_rank = 16, tag_first_link = std::uint64_t{1} << 32;

  Status watch(int descriptor, std::uint64_t tag);
  void accept_all();
  void receive(Connection& connection);
  bool greet(Connection& connection, const void* data, std::size_t size, Fd memory);
  void enroll(Connection& connection, const transport::Register& registration, Fd target);
  void meet(Connection& connection, std::uint32_t version);
  void watch_link(int socket, std::uint32_t events, std::uint64_t tag);
  Pass drain_rings();
  void begin_pass();
  bool hold_back();
  Pass merge_rings();
  Pass drain_links();
  void forget(ChannelId agent);
  void drop_gone();
  void forward_requests();
  void forward(const PendingRequest& request);
  void deliver();
  void share_progress(std::uint64_t now);
  void drop(ChannelId id, const std::string& why);
  void hang_up(ChannelId id);
  bool something_waits() const;
  void sleep();
  void listen(int timeout_ms);
  void handle(std::uint64_t tag, std::uint32_t events);
  bool may_leave(std::uint64_t now);
  void log(const std::string& line);

  Core& core_;
  int storage_event_fd_;
  ServerOptions options_;
  Fd epoll_, listener_, wake_, signals_, page_memory_;
  transport::Mapping page_mapping_;
  transport::AgentPage* page_ = nullptr;
  std::unique_ptr<FileStates> states_;
  Trace trace_;
  std::map<ChannelId, std::unique_ptr<Connection>> connections_;
  transport::TcpNet net_;
  transport::SystemClock time_;
  Links links_;
  std::vector<PendingRequest> fresh_;    // seen by the running pass: other rings may hold older records
  std::vector<PendingRequest> waiting_;  // a whole pass has to end before they go to Core
  struct Asked {
    ChannelId channel;
    std::uint32_t request;
    FileSlot file;
    bool closes;
    std::uint64_t position;
  };
  std::vector<Asked> asked_;    // with Core, unanswered
  std::vector<Reply> replies_;  // from Core, to be delivered
  std::vector<FileSlot> damaged_;
  struct Turn {
    std::uint64_t stamp;
    Connection* connection;
  };
  std::vector<Turn> turns_;  // a heap, oldest first
  std::vector<std::pair<ChannelId, std::string>> broken_;
  transport::StampClock clock_ = transport::StampClock::monotonic;
  std::uint64_t pass_stamp_ = 0;  // when the pass began
  bool pass_open_ = false;
  bool holding_ = false;       // hold_back()
  std::uint64_t hold_at_ = 0;  // partial bytes from which on to hold back
  std::uint64_t hold_since_ns_ = 0;
  std::uint64_t hold_moved_ns_ = 0;  // when hold_fill_ was last seen to change
  std::uint64_t hold_fill_ = 0;      // of all rings
  bool leaving_ = false;             // a signal came
  bool served_ = false;
  std::uint64_t listened_ns_ = 0;
  std::uint64_t born_ns_ = 0;
  std::uint64_t shared_ns_ = 0;        // share_progress()
  std::uint64_t shared_progress_ = 0;  // ours, as upstream agents were last told
  std::uint64_t heard_progress_ = 0;   // of agents downstream,
  std::uint64_t heard_steps_ = 0;      // ... in the page's count, and
  std::uint64_t shared_heard_ = 0;     // ... as upstream agents were last told
  std::uint64_t alone_since_ns_ = 0;
};

// Appends one line to a file with one write.
void append_line(const std::string& path, const std::string& line);

}  // namespace millrace::agent
