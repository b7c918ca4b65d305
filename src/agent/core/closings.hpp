// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "io/storage.hpp"
#include "sink/sink.hpp"

namespace millrace::agent {

// Closes descriptors of one file that the agent got and does not need: a rank passes one at each
// registration. close(2) may wait for the file system, so the storage closes them. It may also tell an error
// of bytes that somebody wrote before, which then is the file's error. Some file systems tell an error once.
// So each descriptor is closed once, and syncs and closes of ranks are answered while none is on its way. Not
// thread safe.
class Closings {
 public:
  Closings(io::Storage& storage, std::uint32_t owner) : storage_(storage), owner_(owner) {}

  // Returns an error that the file has to keep: if the storage cannot take the descriptor, nobody knows what
  // its close would have told.
  Status close(Fd file) {
    if (!local_) local_ = storage_.is_local(file);
    if (*local_) return {};  // the destructor closes it
    const Result<io::Handle> handle = storage_.adopt(std::move(file), false);
    if (!handle) return handle.status();
    io::Request request{io::Op::close, *handle, 0, 0, {}, std::uint64_t{owner_} << 32 | next_, true};
    closing_.emplace(next_++, *handle);
    storage_.submit(std::move(request));
    return {};
  }
  // A completion of the storage. Returns the error that the file has to keep.
  Status complete(const io::Completion& completion) {
    if (sink::owner_of(completion.token) != owner_) return {};
    const auto found = closing_.find(static_cast<std::uint32_t>(completion.token));
    if (found == closing_.end()) return {};
    storage_.release(found->second);
    closing_.erase(found);
    ++completions_;
    return completion.status;
  }
  bool quiet() const { return closing_.empty(); }
  std::uint64_t completions() const { return completions_; }

 private:
  io::Storage& storage_;
  std::uint32_t owner_;
  std::uint32_t next_ = 0;
  std::uint64_t completions_ = 0;
  std::optional<bool> local_;                    // the file is of this machine; empty: not known yet
  std::map<std::uint32_t, io::Handle> closing_;  // by the number in the token
};

}  // namespace millrace::agent
