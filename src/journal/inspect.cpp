// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "journal/inspect.hpp"

#include <ctime>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "journal/reader.hpp"

namespace millrace::journal {

namespace {

std::string time_text(std::uint64_t ns) {
  const auto seconds = static_cast<std::time_t>(ns / 1'000'000'000);
  std::tm parts = {};
  char text[32] = "unknown";
  if (gmtime_r(&seconds, &parts) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

bool has_header(const Summary& summary) {
  return summary.verdict == Verdict::clean || summary.verdict == Verdict::torn || summary.end > 0;
}

const char* name(Kind kind) {
  return kind == Kind::ledger ? "ledger" : kind == Kind::rescue ? "rescue" : "overflow";
}

std::string state_text(const StateSector& state) {
  return std::string(state.state == State::draining ? "draining" : "open") +
         (state.passed_over != 0 ? ", passed over" : "");
}

// What tells the target from another file with its inode number.
std::string identity_text(const FileHeader& header) {
  std::ostringstream text;
  if (header.birth_ns != 0) text << "made " << time_text(header.birth_ns) << ", ";
  if (header.handle != 0) text << "handle " << std::hex << header.handle << ", ";
  if (header.mark != 0) text << "mark " << std::hex << header.mark << ", ";
  const std::string told = text.str();
  return told.empty() ? "by its numbers alone" : told.substr(0, told.size() - 2);
}

nlohmann::json to_json(const std::string& file, const Summary& summary) {
  nlohmann::json document = {{"schema", "millrace-journal/2"},
                             {"file", file},
                             {"health", name(summary.verdict)},
                             {"end", summary.end}};
  if (!has_header(summary)) return document;
  document["version"] = summary.header.version;
  document["kind"] = name(summary.header.kind);
  document["state"] = state_text(summary.state);
  document["target"] = {{"path", path_of(summary.header)}, {"device", summary.header.device},
                        {"inode", summary.header.inode},   {"birth_ns", summary.header.birth_ns},
                        {"handle", summary.header.handle}, {"mark", summary.header.mark}};
  document["created"] = time_text(summary.header.created_ns);
  document["records"] = summary.records;
  document["payload_bytes"] = summary.payload_bytes;
  document["commits"] = summary.commits;
  document["committed"] = summary.committed;
  document["extent"] = {summary.extent.begin, summary.extent.end};
  return document;
}

void print(std::ostream& out, const std::string& file, const Summary& summary) {
  out << file << ": " << describe(summary.verdict) << '\n';
  if (!has_header(summary)) return;
  out << "  target   " << path_of(summary.header) << " (device " << summary.header.device << ", inode "
      << summary.header.inode << ")\n"
      << "  identity " << identity_text(summary.header) << '\n'
      << "  kind     " << name(summary.header.kind) << ", created " << time_text(summary.header.created_ns)
      << ", format version " << summary.header.version << '\n'
      << "  state    " << state_text(summary.state) << '\n'
      << "  records  " << summary.records << " with " << summary.payload_bytes << " bytes\n"
      << "  extent   [" << summary.extent.begin << ", " << summary.extent.end << ")\n"
      << "  commits  " << summary.commits << (summary.committed ? ", the last record is one" : "") << '\n'
      << "  health   " << name(summary.verdict) << " at byte " << summary.end << '\n';
}

}  // namespace

int inspect(const std::string& file, bool json, std::ostream& out, std::ostream& error) {
  Result<Fd> fd = io::open_to_read(file.c_str());
  if (!fd) {
    error << "millrace-journal: " << file << ": " << fd.status().describe() << '\n';
    return 2;
  }
  FileSource source(*fd);
  const Summary summary = scan(source);
  if (json) {
    // Paths are bytes; what is not UTF-8 is replaced.
    out << to_json(file, summary).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  } else {
    print(out, file, summary);
  }
  if (summary.verdict == Verdict::unreadable) return 2;
  if (to_status(summary.verdict).ok()) return 0;
  error << "millrace-journal: " << file << ": " << describe(summary.verdict);
  if (summary.verdict == Verdict::corrupt) error << " (byte " << summary.end << ")";
  if (summary.verdict == Verdict::unsupported) error << ": version " << summary.header.version;
  error << '\n';
  return 1;
}

}  // namespace millrace::journal
