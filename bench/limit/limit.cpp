// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0

// The storage's rate for one sequential stream: the limit for results.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/args.hpp"
#include "common/json.hpp"
#include "common/pattern.hpp"
#include "common/system.hpp"
#include "limit/streams.hpp"

namespace {

using namespace bench;

struct Settings {
  Stream stream;
  std::uint64_t direct_transfer = 4ULL << 20;
  std::vector<unsigned> depths = {4, 16};
  long repetitions = 3;
  bool warm = true, keep = false, help = false;
};

// One way to write, and what it gave.
struct Method {
  std::string name;
  Stream stream;
  double (*write)(const Stream&);
  std::vector<double> mib_s = {};
  std::string problem = "";  // why it could not be measured here
};

std::vector<unsigned> parse_depths(const std::string& text) {
  std::vector<unsigned> depths;
  for (const std::string& part : split(text))
    depths.push_back(static_cast<unsigned>(parse_number(part, 1, 64)));
  return depths;
}

std::vector<Option> options(Settings& s) {
  return {
      {'o', "file", "FILE", "file to write; must not exist (required)", [&](auto& v) { s.stream.path = v; }},
      {'b', "size", "SIZE", "bytes in all (1g)", [&](auto& v) { s.stream.size = parse_size(v); }},
      {0, "sync", "fsync|none", "what is done before close (fsync)",
       [&](auto& v) {
         if (v != "fsync" && v != "none") throw BadUsage("'" + v + "' is neither fsync nor none");
         s.stream.fsync = v == "fsync";
       }},
      {'t', "transfer", "SIZE", "bytes per buffered write (1m)",
       [&](auto& v) { s.stream.transfer = parse_size(v); }},
      {0, "direct-transfer", "SIZE", "bytes per direct write, a multiple of 4k (4m)",
       [&](auto& v) { s.direct_transfer = parse_size(v); }},
      {0, "depths", "N,N...", "direct writes in flight, each measured (4,16)",
       [&](auto& v) { s.depths = parse_depths(v); }},
      {0, "pace", "SIZE", "bytes after which the paced stream begins writeback (8m)",
       [&](auto& v) { s.stream.pace = parse_size(v); }},
      {'i', "repetitions", "N", "times that each method runs, in turns (3)",
       [&](auto& v) { s.repetitions = parse_number(v, 1, 1000); }},
      {'G', "seed", "N", "seed of the data (0)",
       [&](auto& v) { s.stream.seed = static_cast<std::uint64_t>(parse_number(v, 0, 1L << 40)); }},
      {0, "no-warm", "", "do not touch and free memory before each run", [&](auto&) { s.warm = false; }},
      {'k', "keep", "", "leave the last file", [&](auto&) { s.keep = true; }},
      {'h', "help", "", "this text", [&](auto&) { s.help = true; }},
  };
}

void check(const Settings& s) {
  if (s.stream.path.empty()) throw BadUsage("--file is missing");
  if (s.stream.size == 0 || s.stream.transfer == 0) throw BadUsage("--size and --transfer must not be 0");
  if (s.direct_transfer == 0 || s.direct_transfer % 4096 != 0) {
    throw BadUsage("--direct-transfer must be a multiple of 4k");
  }
}

std::vector<Method> methods(const Settings& s) {
  std::vector<Method> all = {{"buffered", s.stream, write_buffered}, {"paced", s.stream, write_paced}};
  for (const unsigned depth : s.depths) {
    Stream direct = s.stream;
    direct.transfer = s.direct_transfer;
    direct.depth = depth;
    all.push_back({"direct_depth_" + std::to_string(depth), direct, write_direct});
  }
  return all;
}

// Runs one method once. False if the file does not hold what was written.
bool measure(Method& method, const Settings& s) {
  const std::string& path = method.stream.path;
  sync_file_system(path);
  if (s.warm) warm_memory(method.stream.size, 1, [] {});
  try {
    const double seconds = method.write(method.stream);
    method.mib_s.push_back(static_cast<double>(method.stream.size) / (1 << 20) / seconds);
  } catch (const std::exception& problem) {
    method.problem = problem.what();
    remove_file(path);
    return true;
  }
  const FileCheck result = check_file(path.c_str(), 0, method.stream.size, method.stream.seed);
  if (!result.ok) std::fprintf(stderr, "limit: %s: %s\n", method.name.c_str(), result.message);
  return result.ok;
}

std::string report(const Settings& s, const std::vector<Method>& all, bool verified) {
  Json json("limit");
  json.object("parameters").put("file", s.stream.path).put("bytes", s.stream.size);
  json.put("sync", s.stream.fsync ? "fsync" : "none").put("transfer", s.stream.transfer);
  json.put("direct_transfer", s.direct_transfer).put("pace", s.stream.pace).put("warm", s.warm);
  json.put("repetitions", s.repetitions).close();
  const Method* best = nullptr;
  double limit = 0;
  json.object("methods");
  for (const Method& method : all) {
    const Spread mib_s = spread(method.mib_s);
    json.object(method.name);
    if (!method.problem.empty()) json.put("problem", method.problem);
    if (!method.mib_s.empty()) {
      json.put("min_mib_s", mib_s.min).put("median_mib_s", mib_s.median).put("max_mib_s", mib_s.max);
      json.list("mib_s");
      for (const double value : method.mib_s) json.put("", value);
      json.close();
    }
    json.close();
    if (method.problem.empty() && mib_s.median > limit) {
      limit = mib_s.median;
      best = &method;
    }
  }
  json.close().put("best", best != nullptr ? best->name : "").put("limit_mib_s", limit);
  json.put("verified", verified && best != nullptr);
  return json.finish();
}

int run(const Settings& s) {
  std::vector<Method> all = methods(s);
  bool verified = true, measured = false;
  for (long i = 0; i < s.repetitions; i++) {
    for (Method& method : all) {
      if (!method.problem.empty()) continue;
      remove_file(s.stream.path);
      verified = measure(method, s) && verified;
    }
  }
  for (const Method& method : all) {
    if (!method.problem.empty())
      std::fprintf(stderr, "limit: %s: %s\n", method.name.c_str(), method.problem.c_str());
    measured = measured || method.problem.empty();
  }
  if (!s.keep) remove_file(s.stream.path);
  std::fputs(report(s, all, verified).c_str(), stdout);
  return verified && measured ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  settings.stream.size = 1ULL << 30;
  const std::vector<Option> table = options(settings);
  try {
    parse_arguments(argc, argv, table);
    if (settings.help) {
      std::printf("limit: what the storage gives to one sequential stream (JSON)\n%s",
                  describe(table).c_str());
      return 0;
    }
    check(settings);
    return run(settings);
  } catch (const BadUsage& problem) {
    std::fprintf(stderr, "limit: %s\n", problem.what());
    return 2;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "limit: %s\n", problem.what());
    return 1;
  }
}
