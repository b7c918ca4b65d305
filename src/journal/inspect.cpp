// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "journal/inspect.hpp"

#include <ctime>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <string_view>
#include <utility>

#include "journal/reader.hpp"

namespace millrace::journal {

namespace {

constexpr std::size_t runs_shown = 20;
constexpr const char* usage =
    "usage: millrace-journal [--json] FILE\n"
    "Prints the header, the records and the runs of a journal, and whether it is sound.\n"
    "Exit status: 0 sound, 1 corrupt or not a journal, 2 wrong use or a file that cannot be read.\n";

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::clean:
      return "clean";
    case Verdict::torn:
      return "torn";
    case Verdict::corrupt:
      return "corrupt";
    case Verdict::not_a_journal:
      return "not_a_journal";
    case Verdict::unsupported:
      return "unsupported";
    case Verdict::foreign:
      return "foreign";
    case Verdict::unreadable:
      return "unreadable";
  }
  return "unknown";
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

std::string path_of(const FileHeader& header) {
  return {header.path, std::min<std::size_t>(header.path_length, path_max)};
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
  nlohmann::json document = {{"schema", "millrace-journal/1"},
                             {"file", file},
                             {"health", name(summary.verdict)},
                             {"end", summary.end}};
  if (!has_header(summary)) return document;
  document["version"] = summary.header.version;
  document["layout"] = summary.header.layout == Layout::log ? "log" : "runs";
  document["job_hash"] = summary.header.job_hash;
  document["target"] = {{"path", path_of(summary.header)}, {"device", summary.header.device},
                        {"inode", summary.header.inode},   {"birth_ns", summary.header.birth_ns},
                        {"handle", summary.header.handle}, {"mark", summary.header.mark}};
  document["created"] = time_text(summary.header.created_ns);
  document["records"] = summary.records;
  document["payload_bytes"] = summary.payload_bytes;
  document["commits"] = summary.commits;
  document["committed"] = summary.committed;
  document["extent"] = {summary.extent.begin, summary.extent.end};
  document["runs"] = nlohmann::json::array();
  for (const RunInfo& run : summary.runs) {
    document["runs"].push_back({{"position", run.begin.position},
                                {"end", run.end},
                                {"records", run.records},
                                {"payload_bytes_before", run.begin.payload_bytes},
                                {"extent", {run.extent.begin, run.extent.end}}});
  }
  return document;
}

void print(std::ostream& out, const std::string& file, const Summary& summary) {
  out << file << ": " << describe(summary.verdict) << '\n';
  if (!has_header(summary)) return;
  out << "  target   " << path_of(summary.header) << " (device " << summary.header.device << ", inode "
      << summary.header.inode << ")\n"
      << "  identity " << identity_text(summary.header) << '\n'
      << "  job      " << std::hex << summary.header.job_hash << std::dec << ", created "
      << time_text(summary.header.created_ns) << ", format version " << summary.header.version << '\n'
      << "  records  " << summary.records << " with " << summary.payload_bytes << " bytes, "
      << (summary.header.layout == Layout::log ? "in the order of writing"
                                               : "in " + std::to_string(summary.runs.size()) + " sorted runs")
      << '\n'
      << "  extent   [" << summary.extent.begin << ", " << summary.extent.end << ")\n"
      << "  commits  " << summary.commits << (summary.committed ? ", the last record is one" : "") << '\n'
      << "  health   " << name(summary.verdict) << " at byte " << summary.end << '\n';
  for (std::size_t i = 0; i < std::min(summary.runs.size(), runs_shown); ++i) {
    const RunInfo& run = summary.runs[i];
    out << "  run " << i << ": " << run.records << " records, target [" << run.extent.begin << ", "
        << run.extent.end << "), journal [" << run.begin.position << ", " << run.end << ")\n";
  }
  if (summary.runs.size() > runs_shown) {
    out << "  ... and " << summary.runs.size() - runs_shown << " more runs (--json has all)\n";
  }
}

}  // namespace

int inspect(std::span<const std::string> arguments, std::ostream& out, std::ostream& error) {
  bool json = false;
  std::string file;
  for (const std::string& argument : arguments) {
    if (argument == "--json") {
      json = true;
    } else if (argument == "--help" || argument == "-h") {
      out << usage;
      return 0;
    } else if (argument.starts_with("-") || !file.empty()) {
      error << "millrace-journal: unexpected argument '" << argument << "'\n" << usage;
      return 2;
    } else {
      file = argument;
    }
  }
  if (file.empty()) {
    error << "millrace-journal: no file given\n" << usage;
    return 2;
  }
  Result<Fd> fd = io::open_to_read(file.c_str());
  if (!fd) {
    error << "millrace-journal: " << file << ": " << fd.status().describe() << '\n';
    return 2;
  }
  FileSource source(*std::move(fd));
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
  error << '\n';
  return 1;
}

}  // namespace millrace::journal
