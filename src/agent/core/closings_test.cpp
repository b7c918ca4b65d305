// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/core/closings.hpp"

#include "agent/core/testing/core_rig.hpp"

namespace millrace::agent {
namespace {

// A storage that takes no file.
class Refusing final : public io::Storage {
 public:
  Result<io::Handle> adopt(Fd, bool) override { return Status::from_errno(ESTALE); }
  void release(io::Handle) override {}
  Result<std::uint64_t> size(io::Handle) override { return Code::invalid; }
  Result<FileIdentity> identify(const Fd&, bool) override { return Code::invalid; }
  Result<FileState> state_of(const Fd&) override { return Code::invalid; }
  void submit(io::Request) override {}
  void kick() override {}
  void poll(std::vector<io::Completion>&) override {}
  int event_fd() const override { return -1; }
};

TEST(Closings, a_descriptor_that_the_storage_does_not_take_is_an_error_of_the_file) {
  Refusing storage;
  Closings closings(storage, 1);
  EXPECT_EQ(closings.close(Fd(::dup(0))).error(), ESTALE);
  EXPECT_TRUE(closings.quiet());
}

TEST_F(CoreTest, the_close_of_a_refused_descriptor_tells_errors_of_the_file_too) {
  start({.faults = {{.op = io::Op::close, .first = 1, .error = EIO}}});
  const FileSlot slot = rig->open(0, file, tiny(Strategy::sort, true));
  transport::Register unsound{};
  unsound.settings.sort_buffer_bytes = 0;
  EXPECT_FALSE(rig->core.open(1, Fd(::dup(file.get())), unsound).ok());
  for (int i = 0; i < 100 && rig->core.error(slot).ok(); ++i) rig->step(ms);
  EXPECT_EQ(rig->core.error(slot).code(), Code::io);
}

}  // namespace
}  // namespace millrace::agent
