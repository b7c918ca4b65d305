// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/fd.hpp"
#include "io/posix/descriptor.hpp"
#include "io/storage.hpp"
#include "sink/meter.hpp"
#include "sink/run.hpp"
#include "sink/sink.hpp"

namespace millrace::sink {

// A sink's way past the page cache: a second handle of its file, opened for the first run that takes it.
// Either all runs take this way, or the meter decides, until the file system refuses. Owned by one Sink. Not
// thread safe.
class DirectWay {
 public:
  // `target`: the storage's descriptor of the file.
  DirectWay(io::Storage& storage, const SinkOptions& options, int target)
      : storage_(storage),
        always_(options.direct),
        metered_min_bytes_(options.metered_min_bytes),
        meter_(options.meter),
        target_(target) {
    if (always_) open();
  }
  ~DirectWay() {
    if (handle_) storage_.release(*handle_);
  }
  DirectWay(const DirectWay&) = delete;
  DirectWay& operator=(const DirectWay&) = delete;

  // True if aligned parts of this run go past the page cache.
  bool takes(const WriteRun& run) {
    if (refused_) return false;
    if (!always_ && !(measures(run) && meter_->takes_direct(run.length))) return false;
    if (!handle_) open();
    return handle_.has_value();
  }
  // Takes the completion of a write of this run. `direct`: it went past the page cache.
  void wrote(const WriteRun& run, bool direct, const io::Completion& completion) {
    // The file system cannot write past the page cache, although it has opened the file. All its files know
    // now.
    if (run.direct && !direct) {
      refused_ = true;
      if (meter_ != nullptr) meter_->refuse_direct();
    }
    if (measures(run)) meter_->took(direct, run.length, completion.begin_ns, completion.end_ns);
  }

  // True if all aligned parts take this way.
  bool always() const { return always_ && !refused_; }
  bool works() const { return handle_.has_value() && !refused_; }
  std::optional<io::Handle> handle() const { return handle_; }

 private:
  bool measures(const WriteRun& run) const {
    return meter_ != nullptr && run.gaps == 0 && run.length >= metered_min_bytes_;
  }
  void open() {
    Result<Fd> twin = io::duplicate(std::exchange(target_, -1));
    if (!twin || !twin->valid()) return;
    const Result<io::Handle> handle = storage_.adopt(*std::move(twin), true);
    if (handle) handle_ = *handle;
  }

  io::Storage& storage_;
  const bool always_;
  const std::uint64_t metered_min_bytes_;
  Meter* const meter_;
  int target_;
  std::optional<io::Handle> handle_;
  bool refused_ = false;
};

}  // namespace millrace::sink
