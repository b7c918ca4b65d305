// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "journal/inspect.hpp"

#include <ctime>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>

#include "io/posix/descriptor.hpp"
#include "journal/reader.hpp"

namespace millrace::journal {

namespace {

// Paths are bytes, not text: this replaces bytes that are not UTF-8.
std::string text_of(const nlohmann::ordered_json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

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

const char* name(LogState state) {
  return state == LogState::draining ? "draining" : state == LogState::done ? "done" : "open";
}

const char* name(Writers writers) {
  return writers == Writers::nobody ? "nobody" : writers == Writers::nodes ? "nodes" : "owner";
}

const char* name(LogKind kind) {
  return kind == LogKind::ledger ? "ledger" : kind == LogKind::rescue ? "rescue" : "overflow";
}

// The fields in the order of the output.
nlohmann::ordered_json document_of(const std::string& file, const Summary& summary) {
  nlohmann::ordered_json document = {{"schema", "millrace-journal/2"},
                                     {"file", file},
                                     {"health", name(summary.verdict)},
                                     {"meaning", describe(summary.verdict)},
                                     {"end", summary.end}};
  if (!has_header(summary)) return document;
  const FileHeader& header = summary.header;
  document["version"] = header.version;
  document["kind"] = name(header.kind);
  document["state"] = name(summary.state.state);
  document["passed_over"] = summary.state.passed_over != 0;
  document["created"] = time_text(header.created_ns);
  document["target"] = {{"path", path_of(header)},     {"device", header.device}, {"inode", header.inode},
                        {"birth_ns", header.birth_ns}, {"handle", header.handle}, {"mark", header.mark}};
  const FileState& left = summary.state.target;
  document["writers"] = name(summary.state.writers);
  document["left"] = {{"bytes", left.bytes}, {"mtime_ns", left.mtime_ns}, {"ctime_ns", left.ctime_ns}};
  document["records"] = summary.records;
  document["payload_bytes"] = summary.payload_bytes;
  document["extent"] = {summary.extent.begin, summary.extent.end};
  document["commits"] = summary.commits;
  document["committed"] = summary.committed;
  return document;
}

void print(std::ostream& out, const nlohmann::ordered_json& document) {
  for (const auto& [key, value] : document.items()) {
    out << std::left << std::setw(16) << key;
    out << (value.is_string() ? value.get<std::string>() : text_of(value, -1)) << '\n';
  }
}

}  // namespace

int inspect(const std::string& file, bool json, std::ostream& out, std::ostream& error) {
  Result<Fd> fd = io::open_to_read(file.c_str());
  if (!fd) {
    error << "millrace-journal: " << file << ": " << fd.status().describe() << '\n';
    return 2;
  }
  const Summary summary = scan(*fd);
  const nlohmann::ordered_json document = document_of(file, summary);
  if (json) {
    out << text_of(document, 2) << '\n';
  } else {
    print(out, document);
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
