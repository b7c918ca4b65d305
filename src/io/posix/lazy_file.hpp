// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>

#include "base/fd.hpp"
#include "base/file_system.hpp"
#include "base/result.hpp"
#include "io/posix/cache.hpp"
#include "io/storage.hpp"

namespace millrace::io {

// True for the answer of a file system to a direct write that it cannot do, although it opened the file with
// O_DIRECT.
bool refuses_direct(Status status);

// A file of a Storage. open(2) and close(2) may wait for the file system. So the thread that carries out the
// first request opens the file again: for direct writes, or for reading if the descriptor has O_PATH only.
// Thread safe.
//
// If the file system refuses direct writes, at open or later, the file uses the page cache from then on. On a
// file system without coherent caches whose O_DIRECT is exact, all transfers pass the page cache. Then a
// write changes no byte that another node writes, and a read finds what other nodes wrote. There, requests
// fail if the file cannot be opened so: a write through the page cache might destroy bytes.
class LazyFile {
 public:
  LazyFile(Fd file, bool direct);

  // The descriptor for the next request. open() waits for the file system unless the file is ready().
  struct Access {
    int fd = -1;
    Cache cache = Cache::used;
    Status status;
  };
  Access open();
  bool ready() const { return ready_.load(std::memory_order_acquire); }
  // As it was asked for. The file system may refuse it.
  bool passes_cache() const { return wanted_ != Cache::used; }
  // A direct write has failed because the file system refuses it. False: this is an error.
  bool give_up_direct();

  // Op::close: closes a second descriptor of each open of the file, because every close(2) tells errors of
  // earlier writes. The file stays open. `last`: closes the file itself. A further close(2) might drop an
  // error of a write that another descriptor made meanwhile.
  Status tell(bool last);
  // Closes the file.
  void close();

  // The descriptor as it was given.
  const Fd& given() const { return file_; }
  // On a file system of this machine, close(2) tells nothing, and processes of this machine may rewrite parts
  // of the file under a lock (extent_lock.hpp).
  bool local() const { return type_.coherence == Coherence::machine; }
  // True if close(2) waits for nothing. The last close of a file without a name frees its blocks.
  bool closes_at_once() const;

 private:
  Fd file_;
  const FileSystemType type_;
  const bool reads_only_;  // the descriptor has O_PATH only
  const Cache wanted_;
  std::atomic<Cache> cache_;
  std::mutex mutex_;  // held while the file is opened again
  std::atomic<bool> ready_;
  // From ready() on these two do not change.
  Fd again_;       // opened with O_DIRECT, or for reading
  Status status_;  // of an open without which no request is possible
};

}  // namespace millrace::io
