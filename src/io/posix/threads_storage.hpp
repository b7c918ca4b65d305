// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "io/posix/identity.hpp"
#include "io/posix/lazy_file.hpp"
#include "io/storage.hpp"

namespace millrace::io {

// A Storage with a few threads that make blocking system calls. Works on every file system. Idle workers
// sleep on a condition variable. Buffered writes of one file take turns. They would wait for each other in
// the kernel too, but that wait uses a processor.
//
// Workers also open and close files, because these calls too may wait for a file system.
class ThreadsStorage final : public Storage {
 public:
  static constexpr std::size_t queue_max = 64;  // requests that workers see; more requests wait in held_

  static Result<std::unique_ptr<ThreadsStorage>> create(unsigned threads = 2);
  // Waits for requests in flight. Their completions are lost.
  ~ThreadsStorage() override;

  // nullptr: there is no such handle.
  LazyFile* file(Handle file) const { return file < files_.size() ? files_[file].file.get() : nullptr; }

  Result<Handle> adopt(Fd file, bool direct) override;
  void release(Handle file) override;
  Result<std::uint64_t> size(Handle file) override;
  Result<FileIdentity> identify(const Fd& file, bool for_good) override {
    return io::identify(file, for_good);
  }
  Result<FileState> state_of(const Fd& file) override { return io::state_of(file); }
  Result<FileIdentity> recognise(const Fd& file) override { return io::recognise(file); }
  bool is_local(const Fd& file) override { return millrace::is_local(file.get()); }
  void submit(Request request) override;
  void kick() override;
  void poll(std::vector<Completion>& out) override;
  int event_fd() const override { return event_.get(); }

 private:
  struct File {
    std::shared_ptr<LazyFile> file;  // jobs share it
  };
  struct Job {
    std::shared_ptr<LazyFile> file;  // null: there is no such handle
    bool turns;                      // a buffered write, which takes turns with others of its file
    bool releases;                   // closes the file, and has no completion
    Request request;
  };

  explicit ThreadsStorage(Fd event) : event_(std::move(event)) {}
  void work();
  std::deque<Job>::iterator next_job();
  void finish(const Completion& completion);

  std::vector<File> files_;  // by handle; only the caller's thread uses it
  std::deque<Job> held_;     // not yet given to workers; only the caller's thread uses it
  Fd event_;

  std::mutex mutex_;
  std::condition_variable some_work_;
  std::deque<Job> queue_;                // guarded by mutex_
  std::vector<LazyFile*> writing_;       // files with a buffered write under way; guarded by mutex_
  std::vector<Completion> completions_;  // guarded by mutex_
  bool stop_ = false;                    // guarded by mutex_
  std::atomic<bool> any_{false};  // completions_ is not empty; so poll() of an idle storage takes no lock
  std::vector<std::thread> threads_;
};

}  // namespace millrace::io
