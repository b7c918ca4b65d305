// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// millraced over the fake Core.
#include "agent/server/serve.hpp"

namespace {

class NoStorage final : public millrace::io::Storage {
 public:
  millrace::Result<millrace::io::Handle> adopt(millrace::Fd, bool) override {
    return millrace::Code::unsupported;
  }
  void release(millrace::io::Handle) override {}
  millrace::Result<std::uint64_t> size(millrace::io::Handle) override { return millrace::Code::unsupported; }
  millrace::Result<millrace::FileIdentity> identify(const millrace::Fd&, bool) override {
    return millrace::Code::unsupported;
  }
  millrace::Result<millrace::FileState> state_of(const millrace::Fd&) override {
    return millrace::FileState();
  }
  void submit(millrace::io::Request) override {}
  void kick() override {}
  void poll(std::vector<millrace::io::Completion>&) override {}
  int event_fd() const override { return -1; }
};

millrace::Result<std::unique_ptr<millrace::io::Storage>> no_storage(const millrace::Settings&) {
  return std::unique_ptr<millrace::io::Storage>(std::make_unique<NoStorage>());
}

}  // namespace

int main(int argc, char** argv) { return millrace::agent::serve_by_arguments(argc, argv, no_storage); }
