// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>

#include "client/costs/policy.hpp"
#include "client/file/agent_reads.hpp"
#include "client/file/enrolment.hpp"
#include "client/file/file.hpp"
#include "client/file/guest.hpp"
#include "client/file/own_pieces.hpp"
#include "client/file/process.hpp"
#include "client/file/target_file.hpp"

namespace millrace::client {

// One open of a file. Transfers may enter the pipeline; the report counts all calls, even if none enters it.
class OpenedFile final : public File, private Leaver {
 public:
  OpenedFile(OpenRequest request, Reason barred, Process& process);
  ~OpenedFile() override { (void)close(); }

  bool enter_pipeline(const Transfer& transfer) override;
  Status write(std::span<const Piece> pieces) override;
  Status flush(Before what, Extent extent) override;
  OwnPieces* own_pieces() override { return &pieces_; }
  AgentReads* agent_reads() override { return &reads_; }
  void note_direct_write(Extent extent) override;
  Status sync() override;
  Status close() override;
  void withdraw() override {
    withdrawn_.store(true);
    (void)close();
  }
  bool registered() const override { return enrolment_.session() != nullptr; }
  Status set_direct(const Ground& ground) override;
  Status bar(Reason reason) override { return enrolment_.barred.store(reason), set_direct({reason}); }
  std::uint64_t start_timing() override { return process_.now_ns(); }
  void stop_timing(std::uint64_t start) override {
    account_.library_took(of_node(process_.now_ns() - start));
  }
  const FileSettings& settings() const override { return request_.settings; }
  std::uint64_t number() const override { return target_.number(); }
  std::string lasting_name() const override { return target_.lasting_path(); }

  void enroll() { (void)enrolment_.enroll(true); }

 private:
  void leave(bool at_exit) override;
  // After a crash, recovery would write the ledger's records over the bytes that the MPI library writes now.
  Status forget_ledger() { return past_ledger_.store(true, std::memory_order_relaxed), settle_ledger(); }
  Status settle_ledger();
  Choice decide(const Transfer& transfer);
  // Costs are times of the node, whose processors work for so many ranks at once.
  std::uint64_t of_node(std::uint64_t ns) const {
    return ns / std::max(std::min(request_.members, process_.processors()), 1U);
  }
  Status before_reading(Extent extent);
  Status before_writing(Extent extent);
  Status before_size();
  Status before_others_write();
  Status before_others_read();
  Status flush_own(Extent extent);
  Status flush_own_before_writing(Extent extent);
  bool goes_to_disk() const {
    return ends_on_disk(request_.settings) || process_.history().syncs.load(std::memory_order_relaxed);
  }
  Status settle(transport::Kind kind, Extent extent);
  void report(Status status);

  Process& process_;
  OpenRequest request_;
  TargetFile target_;
  Enrolment enrolment_;
  std::atomic<Reason> turned_off_{Reason::none};  // why it does not take the pipeline at present
  Guest guest_;                                   // asks the agent for a file in which this open has no part
  Guest successor_;  // asks a second agent, which started after this rank's agent died
  Account account_;
  OwnPieces pieces_;
  AgentReads reads_;
  std::atomic<bool> on_the_way_{false};   // this rank has written since the last order()
  std::atomic<bool> elsewhere_;           // other nodes may have written before an order()
  std::atomic<bool> past_ledger_{false};  // the MPI library wrote to a file that has a ledger
  std::atomic<bool> closed_{false};
  std::atomic<bool> withdrawn_{false};
};

}  // namespace millrace::client
