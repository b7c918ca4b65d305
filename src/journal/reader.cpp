// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "journal/reader.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "io/posix/descriptor.hpp"

namespace millrace::journal {

namespace {

struct Words {
  const char* name;
  const char* sentence;
  Code code;
};

// By verdict.
constexpr std::array<Words, 6> words{{
    {"clean", "complete up to its end", Code::ok},
    {"torn", "the last record is incomplete (its writer was stopped); the records before it are good",
     Code::ok},
    {"corrupt", "corrupt: the bytes there differ from those that were written", Code::corrupt},
    {"not_a_journal", "not a Millrace journal", Code::invalid},
    {"unsupported", "a Millrace journal of a version that this program does not know", Code::unsupported},
    {"unreadable", "cannot be read", Code::io},
}};
static_assert(words.size() == static_cast<std::size_t>(Verdict::unreadable) + 1);

const Words& words_of(Verdict verdict) { return words[static_cast<std::size_t>(verdict)]; }

}  // namespace

const char* name(Verdict verdict) { return words_of(verdict).name; }
const char* describe(Verdict verdict) { return words_of(verdict).sentence; }
Status to_status(Verdict verdict) { return words_of(verdict).code; }

JournalReader::JournalReader(const Fd& file, std::size_t window_bytes)
    : file_(&file), window_bytes_(std::max<std::size_t>(window_bytes, sizeof(Start))) {}

bool JournalReader::stop(Verdict verdict) {
  verdict_ = verdict;
  return false;
}

std::optional<std::span<const std::byte>> JournalReader::window(std::uint64_t position, std::size_t bytes) {
  const bool inside = position >= window_begin_ && position + bytes <= window_begin_ + window_.size();
  if (!inside) {
    window_.resize(std::max(bytes, window_bytes_));
    window_begin_ = position;
    const Result<std::size_t> got = io::read_at(*file_, position, window_);
    window_.resize(got ? *got : 0);
    if (!got) return std::nullopt;
  }
  const std::size_t begin = position - window_begin_;
  return std::span<const std::byte>(window_).subspan(begin, std::min(bytes, window_.size() - begin));
}

Verdict JournalReader::open() {
  const FileHeader& header = start_.header;
  const auto bytes = window(0, sizeof start_);
  if (!bytes) return verdict_ = Verdict::unreadable;
  if (bytes->size() < sizeof header || std::memcmp(bytes->data(), magic, sizeof magic) != 0)
    return verdict_ = Verdict::not_a_journal;
  std::memcpy(&start_, bytes->data(), bytes->size());
  if (bytes->size() < sizeof start_) start_.sector = {};  // a part of it
  // Checks the checksum before the version: a damaged version field is not another version.
  if (header.checksum != header_checksum(header)) return verdict_ = Verdict::corrupt;
  if (header.version != version) return verdict_ = Verdict::unsupported;
  const bool known = header.kind >= LogKind::overflow && header.kind <= LogKind::rescue;
  const bool right = known && header.path_length <= path_max;
  if (!right || !sound(start_)) return verdict_ = Verdict::corrupt;
  if (const LogPlace& begin = start_.sector.begin; begin.position != 0) {
    position_ = begin.position;
    sequence_ = begin.records;
    payload_bytes_ = begin.payload_bytes;
  }
  return verdict_ = Verdict::clean;
}

bool JournalReader::zero_to_the_end() {
  for (std::uint64_t position = position_;;) {
    const auto bytes = window(position, window_bytes_);
    if (!bytes || !all_zero(*bytes)) return false;
    if (bytes->size() < window_bytes_) return true;
    position += bytes->size();
  }
}

bool JournalReader::next(Record& record) {
  if (verdict_ != Verdict::clean) return false;
  const auto head = window(position_, sizeof(RecordHeader));
  if (!head) return stop(Verdict::unreadable);
  if (head->empty()) return false;
  if (head->size() < sizeof(RecordHeader)) return stop(Verdict::torn);
  RecordHeader header;
  std::memcpy(&header, head->data(), sizeof header);
  const std::uint64_t seed = start_.header.checksum;
  if (!valid(header, seed, sequence_)) return stop(zero_to_the_end() ? Verdict::torn : Verdict::corrupt);
  const std::size_t bytes = record_bytes(header.length);
  const auto whole = window(position_, bytes);
  if (!whole) return stop(Verdict::unreadable);
  if (whole->size() < bytes) return stop(Verdict::torn);
  const std::optional<Record> found = record_at(*whole, seed, sequence_);
  if (!found || (found->type == Type::commit && found->offset > payload_bytes_))
    return stop(Verdict::corrupt);
  record = *found;
  record.stamp = stamp_ = std::max(stamp_, found->stamp);
  position_ += bytes;
  sequence_ += 1;
  payload_bytes_ += header.length;
  committed_ = record.type == Type::commit;
  return true;
}

namespace {

// Looks for a commit record that `is` accepts. True too if the file cannot be read, because it may have one.
template <class Is>
bool some_commit(const Fd& file, std::uint64_t position, Is&& is) {
  std::vector<std::byte> bytes(1 * MiB);
  for (;;) {
    const Result<std::size_t> got = io::read_at(file, position, bytes);
    if (!got) return true;
    if (*got < sizeof(RecordHeader)) return false;
    for (std::size_t at = 0; at + sizeof(RecordHeader) <= *got; at += 8) {
      RecordHeader header;
      std::memcpy(&header, bytes.data() + at, sizeof header);
      if (header.magic == record_magic && header.type == Type::commit && is(header)) return true;
    }
    if (*got < bytes.size()) return false;
    position += bytes.size() - sizeof(RecordHeader) + 8;  // a header may lie across two reads
  }
}

}  // namespace

bool commit_behind(const Fd& file, const Summary& summary) {
  return some_commit(file, summary.end, [&summary](const RecordHeader& header) {
    return header.header_checksum == header_checksum(header, summary.header.checksum) &&
           header.offset > summary.state.begin.payload_bytes + summary.payload_bytes;
  });
}

std::uint64_t boot_of(const Fd& file) {
  std::array<std::byte, offsetof(FileHeader, device)> start{};
  const Result<std::size_t> got = io::read_at(file, 0, start);
  std::uint64_t boot = 0;
  if (got && *got == start.size() && std::memcmp(start.data(), magic, sizeof magic) == 0)
    std::memcpy(&boot, start.data() + offsetof(FileHeader, boot), sizeof boot);
  return boot;
}

bool never_committed(const Fd& file) {
  constexpr std::size_t sector_bytes = 512;  // a disk writes a sector as a whole
  std::array<std::byte, sector_bytes> start{};
  const Result<std::size_t> got = io::read_at(file, 0, start);
  if (!got || *got < start.size()) return false;
  if (!all_zero(start) && std::memcmp(start.data(), magic, sizeof magic) != 0) return false;
  return !some_commit(file, sizeof(FileHeader), [](const RecordHeader&) { return true; });
}

Summary scan(const Fd& file, const std::function<void()>& goes_on) {
  Summary summary;
  JournalReader reader(file);
  summary.verdict = reader.open();
  summary.header = reader.header();
  if (summary.verdict != Verdict::clean) return summary;
  summary.state = reader.state();
  constexpr std::uint64_t step_bytes = 16 * MiB;
  std::uint64_t told = step_bytes;
  for (Record record; reader.next(record);) {
    if (goes_on && reader.position() >= told) {
      told = reader.position() + step_bytes;
      goes_on();
    }
    if (record.type == Type::commit) {
      summary.commits += 1;
      continue;
    }
    summary.extent = hull(summary.extent, {record.offset, record.offset + record.data.size()});
    summary.records += 1;
    summary.payload_bytes += record.data.size();
  }
  summary.verdict = reader.verdict();
  summary.end = reader.position();
  summary.committed = reader.committed();
  return summary;
}

}  // namespace millrace::journal
