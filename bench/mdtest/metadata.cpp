// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// The file system's rate for one process that only changes metadata: the limit of mdtest, without MPI (JSON).
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/args.hpp"
#include "common/json.hpp"
#include "common/system.hpp"
#include "mdtest/limit.hpp"

namespace {

using namespace bench;
using namespace bench::mdtest;

struct Request {
  Settings settings;
  long repetitions = 3;
  bool help = false;
};

std::vector<Option> options(Request& r) {
  return {
      {'n', "", "N", "directories and files (10000)",
       [&](auto& v) { r.settings.limit_items = static_cast<std::uint64_t>(parse_number(v, 1, 1L << 30)); }},
      {'d', "", "DIR", "where; it is there already (.)", [&](auto& v) { r.settings.directory = v; }},
      {'i', "", "N", "repetitions (3)", [&](auto& v) { r.repetitions = parse_number(v, 1, 1000); }},
      {'h', "help", "", "this text", [&](auto&) { r.help = true; }},
  };
}

// A folder of this process alone, gone with it.
class Folder {
 public:
  explicit Folder(const std::string& parent) : path_(parent + "/metadata-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) throw BadUsage("-d: no folder can be made in " + parent);
  }
  ~Folder() { ::rmdir(path_.c_str()); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

int measure(const Request& r) {
  const Folder folder(r.settings.directory);
  std::array<std::vector<double>, operation_count> rates;
  for (long i = 0; i < r.repetitions; i++) {
    const Limits limits = measure_limits(r.settings, folder.path());
    for (std::size_t operation = 0; operation < operation_count; operation++) {
      if (limits[operation] > 0) rates[operation].push_back(limits[operation]);
    }
  }
  Json json("metadata");
  json.object("parameters").put("items", r.settings.limit_items).put("repetitions", r.repetitions).close();
  json.list("operations");
  for (std::size_t operation = 0; operation < operation_count; operation++) {
    if (rates[operation].empty()) continue;
    const Spread s = spread(rates[operation]);
    json.object().put("operation", operation_names[operation]);
    json.object("per_s").put("min", s.min).put("median", s.median).put("max", s.max).close();
    json.list("samples_per_s");
    for (const double rate : rates[operation]) json.put("", rate);
    json.close().close();
  }
  json.close().put("verified", true);  // a call that fails ends the run
  std::fputs(json.finish().c_str(), stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Request request;
  request.settings.directory = ".";
  const std::vector<Option> table = options(request);
  try {
    parse_arguments(argc, argv, table);
    if (request.help) {
      std::printf("metadata: files and directories by one process, without MPI (JSON)\n%s",
                  describe(table).c_str());
      return 0;
    }
    return measure(request);
  } catch (const BadUsage& problem) {
    std::fprintf(stderr, "metadata: %s\n", problem.what());
    return 2;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "metadata: %s\n", problem.what());
    return 1;
  }
}
