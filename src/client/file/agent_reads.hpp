// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "client/way/read_ahead.hpp"

namespace millrace::client {

class Enrolment;
class Process;
class TargetFile;
struct OpenRequest;

// Reads of one open through the agents. The functions that fronts call are virtual, so that tests can link a
// front without an agent's client. Thread safe.
class AgentReads {
 public:
  // Keeps the references.
  AgentReads(const OpenRequest& request, const TargetFile& target, Enrolment& enrolment, Process& process)
      : process_(process), request_(request), target_(target), enrolment_(enrolment) {}
  virtual ~AgentReads() = default;

  // Reads pieces (OpenRequest::through), from `position` of the view's data on. `end` is the end of the last
  // piece in the file. Not ok: as for ReadAhead::read().
  virtual Status read(const FileView& view, std::uint64_t position, const PieceSource& source,
                      std::uint64_t end);
  // Begins such a read and does not wait for its bytes. Not ok: no memory has changed. End the read before
  // File::close().
  virtual Result<std::unique_ptr<PendingRead>> start(const FileView& view, std::uint64_t position,
                                                     const PieceSource& source, std::uint64_t end);
  // The agents carry no more such reads: a rank has written the file.
  virtual void stop();

  // For a node without the file (OpenRequest::stand_in). Reads pieces from the file server, with all earlier
  // writes. Returns the number of bytes: the file may end before the last piece.
  virtual Result<std::uint64_t> read_from_server(const FileView& view, std::uint64_t position,
                                                 const PieceSource& source, std::uint64_t end);
  // The size of the file there, with all earlier writes.
  virtual Result<std::uint64_t> size_on_server();
  // Another rank may have made the file shorter. A node with the file does not ask for its size.
  void forget_size();

  // Drops all that has been read ahead; with `closes`, for good.
  void end(bool closes);
  ReadCounters counters() const { return read_ahead_ ? read_ahead_->counters() : ReadCounters{}; }

 private:
  ReadAhead* read_ahead();
  ReadAhead* carrier();
  Status ask_server(const FileView& view, std::uint64_t position, const PieceSource& source,
                    std::uint64_t end);

  Process& process_;
  const OpenRequest& request_;
  const TargetFile& target_;
  Enrolment& enrolment_;
  std::mutex mutex_;
  std::unique_ptr<ReadAhead> read_ahead_;  // from the first read on
};

}  // namespace millrace::client
