// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "journal/reader.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace millrace::journal {

const char* describe(Verdict verdict) {
  switch (verdict) {
    case Verdict::clean:
      return "complete up to its end";
    case Verdict::torn:
      return "the last record is incomplete (its writer was stopped); the records before it are good";
    case Verdict::corrupt:
      return "corrupt: the bytes there are not what a writer put";
    case Verdict::not_a_journal:
      return "not a Millrace journal";
    case Verdict::unsupported:
      return "a Millrace journal of a version that this program does not know";
    case Verdict::foreign:
      return "the journal of another job or target file";
    case Verdict::unreadable:
      return "cannot be read";
  }
  return "unknown";
}

Status to_status(Verdict verdict) {
  switch (verdict) {
    case Verdict::clean:
    case Verdict::torn:
      return {};
    case Verdict::corrupt:
      return Code::corrupt;
    case Verdict::not_a_journal:
    case Verdict::foreign:
      return Code::invalid;
    case Verdict::unsupported:
      return Code::unsupported;
    case Verdict::unreadable:
      return Code::io;
  }
  return Code::invalid;
}

JournalReader::JournalReader(Source& source, std::size_t window_bytes)
    : source_(&source), window_bytes_(std::max<std::size_t>(window_bytes, 4 * KiB)) {}

bool JournalReader::stop(Verdict verdict) {
  verdict_ = verdict;
  return false;
}

std::optional<std::span<const std::byte>> JournalReader::window(std::uint64_t position, std::size_t bytes) {
  const bool inside = position >= window_begin_ && position + bytes <= window_begin_ + window_.size();
  if (!inside) {
    window_.resize(std::max(bytes, window_bytes_));
    window_begin_ = position;
    const Result<std::size_t> got = source_->read(position, window_);
    window_.resize(got ? *got : 0);
    if (!got) return std::nullopt;
  }
  const std::size_t begin = position - window_begin_;
  return std::span<const std::byte>(window_).subspan(begin, std::min(bytes, window_.size() - begin));
}

void JournalReader::release_window() {
  std::vector<std::byte>().swap(window_);
  window_begin_ = 0;
}

void JournalReader::resume(const FileHeader& header, const Place& place) {
  header_ = header;
  place_ = place;
  verdict_ = Verdict::clean;
}

Verdict JournalReader::open() {
  const auto bytes = window(0, sizeof header_);
  if (!bytes) return verdict_ = Verdict::unreadable;
  if (bytes->size() < sizeof header_ || std::memcmp(bytes->data(), magic, sizeof magic) != 0) {
    return verdict_ = Verdict::not_a_journal;
  }
  std::memcpy(&header_, bytes->data(), sizeof header_);
  // The checksum first: a damaged version is damage, not another version.
  if (header_.checksum != header_checksum(header_)) return verdict_ = Verdict::corrupt;
  if (header_.version != version) return verdict_ = Verdict::unsupported;
  const bool known = header_.layout == Layout::runs || header_.layout == Layout::log;
  if (header_.path_length > path_max || header_.reserved != 0 || !known) return verdict_ = Verdict::corrupt;
  return verdict_ = Verdict::clean;
}

bool JournalReader::belongs_to(std::uint64_t job_hash, const FileIdentity& target) const {
  return header_.job_hash == job_hash && same_file(target_of(header_), target) == Sameness::same;
}

// All that can be said of a header alone, at this place.
bool JournalReader::valid(const RecordHeader& header) const {
  if (header.magic != record_magic || header.reserved != 0 || header.reserved2 != 0) return false;
  if (header.header_checksum != header_checksum(header, header_.checksum)) return false;
  if (header.sequence != place_.sequence) return false;
  switch (header.type) {
    case Type::data:
      return header.length > 0 && header.length <= payload_max &&
             header.offset <= UINT64_MAX - header.length &&
             (header_.layout == Layout::log || (place_.run_end && header.offset >= *place_.run_end));
    case Type::run:
      return header.length == 0 && header.offset == 0 && header_.layout == Layout::runs;
    case Type::commit:
      return header.length == 0 && header.offset <= place_.payload_bytes;
  }
  return false;
}

bool JournalReader::zero_to_the_end() {
  for (std::uint64_t position = place_.position;;) {
    const auto bytes = window(position, window_bytes_);
    if (!bytes) return false;
    if (!std::all_of(bytes->begin(), bytes->end(), [](std::byte one) { return one == std::byte{0}; })) {
      return false;
    }
    if (bytes->size() < window_bytes_) return true;
    position += bytes->size();
  }
}

bool JournalReader::next(Record& record) {
  if (verdict_ != Verdict::clean) return false;
  const auto head = window(place_.position, sizeof(RecordHeader));
  if (!head) return stop(Verdict::unreadable);
  if (head->empty()) return false;
  if (head->size() < sizeof(RecordHeader)) return stop(Verdict::torn);
  RecordHeader header;
  std::memcpy(&header, head->data(), sizeof header);
  if (!valid(header)) return stop(zero_to_the_end() ? Verdict::torn : Verdict::corrupt);
  const std::size_t bytes = record_bytes(header.length);
  const auto whole = window(place_.position, bytes);
  if (!whole) return stop(Verdict::unreadable);
  if (whole->size() < bytes) return stop(Verdict::torn);
  const auto data = whole->subspan(sizeof header, header.length);
  const auto padding = whole->subspan(sizeof header + header.length);
  const bool zero =
      std::all_of(padding.begin(), padding.end(), [](std::byte one) { return one == std::byte{0}; });
  if (!zero || checksum(data.data(), data.size(), header.offset) != header.payload_checksum) {
    return stop(Verdict::corrupt);
  }
  record = {header.type, header.sequence, header.offset, data, place_.position};
  place_.position += bytes;
  place_.sequence += 1;
  place_.payload_bytes += header.length;
  if (header.type == Type::run) place_.run_end = 0;
  if (header.type == Type::data) place_.run_end = header.offset + header.length;
  committed_ = header.type == Type::commit;
  return true;
}

namespace {

// `is`: of a header that has a commit's magic and type. True too if the source can't be read: who can't look
// can't say no.
template <class Is>
bool some_commit(Source& source, std::uint64_t position, Is&& is) {
  std::vector<std::byte> bytes(1 * MiB);
  for (;;) {
    const Result<std::size_t> got = source.read(position, bytes);
    if (!got) return true;
    if (*got < sizeof(RecordHeader)) return false;
    for (std::size_t at = 0; at + sizeof(RecordHeader) <= *got; at += 8) {
      RecordHeader header;
      std::memcpy(&header, bytes.data() + at, sizeof header);
      if (header.magic == record_magic && header.type == Type::commit && is(header)) return true;
    }
    if (*got < bytes.size()) return false;
    position += bytes.size() - sizeof(RecordHeader) + 8;  // one that lies across is seen whole
  }
}

}  // namespace

bool commit_behind(Source& source, const Summary& summary) {
  return some_commit(source, summary.end, [&summary](const RecordHeader& header) {
    return header.header_checksum == header_checksum(header, summary.header.checksum) &&
           header.offset > summary.payload_bytes;
  });
}

bool never_committed(Source& source) {
  constexpr std::size_t sector_bytes = 512;  // reaches a disk as a whole
  std::array<std::byte, sector_bytes> start{};
  const Result<std::size_t> got = source.read(0, start);
  if (!got || *got < start.size()) return false;
  const bool blank = std::ranges::all_of(start, [](std::byte one) { return one == std::byte{0}; });
  if (!blank && std::memcmp(start.data(), magic, sizeof magic) != 0) return false;
  return !some_commit(source, sizeof(FileHeader), [](const RecordHeader&) { return true; });
}

Summary scan(Source& source) {
  Summary summary;
  JournalReader reader(source);
  summary.verdict = reader.open();
  if (summary.verdict != Verdict::clean) return summary;
  summary.header = reader.header();
  Record record;
  while (reader.next(record)) {
    const std::uint64_t after = reader.place().position;
    switch (record.type) {
      case Type::run:
        summary.runs.push_back({reader.place(), after, 0, {}});
        break;
      case Type::commit:
        summary.commits += 1;
        break;
      case Type::data: {
        const Extent extent{record.offset, record.offset + record.data.size()};
        if (!summary.runs.empty()) {  // not of a log; the reader takes no other data record before a run
          RunInfo& run = summary.runs.back();
          run.end = after;
          run.records += 1;
          run.extent = hull(run.extent, extent);
        }
        summary.extent = hull(summary.extent, extent);
        summary.records += 1;
        summary.payload_bytes += record.data.size();
        summary.largest_payload = std::max<std::uint64_t>(summary.largest_payload, record.data.size());
        break;
      }
    }
  }
  summary.verdict = reader.verdict();
  summary.end = reader.place().position;
  summary.committed = reader.committed();
  return summary;
}

}  // namespace millrace::journal
