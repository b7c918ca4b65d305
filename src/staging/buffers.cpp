// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/buffers.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>

#include "base/settings.hpp"

namespace millrace::staging {

namespace {

constexpr std::size_t huge_page_bytes = 2 * MiB;

}  // namespace

Result<std::unique_ptr<Buffers>> Buffers::create(std::size_t bytes) {
  bytes = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  // Maps extra address space for the alignment and unmaps it again. Only the requested bytes stay mapped.
  //
  //   mapped   [  before  |        bytes        | behind ]
  //                       ^ a multiple of a huge page
  const std::size_t spare = bytes >= huge_page_bytes ? huge_page_bytes : 0;
  void* mapped = mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return Status::from_errno(errno);
  auto* begin = static_cast<std::byte*>(mapped);
  if (spare > 0) {
    const std::size_t before =
        (huge_page_bytes - reinterpret_cast<std::uintptr_t>(begin) % huge_page_bytes) % huge_page_bytes;
    if (before > 0) munmap(begin, before);
    if (before < spare) munmap(begin + before + bytes, spare - before);
    begin += before;
    (void)madvise(begin, bytes, MADV_HUGEPAGE);
  }
  // A kernel without huge pages refuses MADV_HUGEPAGE. No kernel refuses MADV_DONTFORK.
  (void)madvise(begin, bytes, MADV_DONTFORK);
  return std::unique_ptr<Buffers>(new Buffers({begin, bytes}));
}

Buffers::~Buffers() {
  if (!all_.empty()) munmap(all_.data(), all_.size());
}

}  // namespace millrace::staging
