// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "client/file/file.hpp"
#include "client/file/guest.hpp"
#include "client/file/target_file.hpp"

namespace millrace::client {

namespace {

class GuestFile final : public File {
 public:
  GuestFile(const std::string& path, Process& process)
      : process_(process), guest_(process), successor_(process, Guest::Of::successor) {
    (void)target_.number_of(path);
  }

  bool enter_pipeline(const Transfer&) override { return false; }
  Status write(std::span<const Piece>) override { return Code::unsupported; }
  Status flush(Extent extent) override {
    const Status status = guest_.before_reading(target_.number(), extent, &target_);
    return status.ok() ? successor_.before_reading(target_.number(), extent, &target_) : status;
  }
  Status order() override { return guest_.order(), Status(); }
  Status publish() override { return {}; }
  Status prepare_direct_write(Extent extent) override {
    const Status status = guest_.before_writing(target_.number(), extent);
    return status.ok() ? successor_.before_writing(target_.number(), extent) : status;
  }
  void note_direct_write(Extent) override {}
  Status sync() override { return {}; }  // this handle has written no bytes through the pipeline
  Status close() override { return {}; }
  bool registered() const override { return false; }
  Status set_direct(const Ground&) override { return flush(everything); }
  const FileSettings& settings() const override { return process_.settings().file; }
  std::uint64_t number() const override { return target_.number(); }

 private:
  Process& process_;
  TargetFile target_;
  Guest guest_, successor_;
};

}  // namespace

std::unique_ptr<File> open_guest(const std::string& path, Process& process) {
  return std::make_unique<GuestFile>(path, process);
}

}  // namespace millrace::client
