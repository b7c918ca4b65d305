// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "ior/options.hpp"

#include <algorithm>
#include <cctype>

namespace bench {
namespace {

using Table = std::vector<Option>;

auto flag(bool& target) {
  return [&target](const std::string&) { target = true; };
}
auto size(std::uint64_t& target) {
  return [&target](const std::string& value) { target = parse_size(value); };
}
auto number(long& target, long low, long high) {
  return [&target, low, high](const std::string& value) { target = parse_number(value, low, high); };
}

void set_api(IorOptions& o, std::string value) {
  for (char& c : value) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (value != "POSIX" && value != "MPIIO") throw BadUsage("there is POSIX and MPIIO, not '" + value + "'");
  o.api = value;
}

void add_hint(IorOptions& o, const std::string& value) {
  const std::size_t equals = value.find('=');
  if (equals == 0 || equals == std::string::npos) throw BadUsage("'" + value + "' is not NAME=VALUE");
  o.hints.emplace_back(value.substr(0, equals), value.substr(equals + 1));
}

void add_pattern_options(Table& table, IorOptions& o) {
  table.push_back({'a', "api", "API", "POSIX or MPIIO (MPIIO)", [&](auto& v) { set_api(o, v); }});
  table.push_back({'b', "blockSize", "SIZE", "contiguous bytes of a rank in a segment (1m)", size(o.block)});
  table.push_back({'t', "transferSize", "SIZE", "bytes per call (256k)", size(o.transfer)});
  table.push_back({'s', "segmentCount", "N", "segments (1)",
                   [&](auto& v) { o.segments = static_cast<std::uint64_t>(parse_number(v, 1, 1L << 40)); }});
  table.push_back({'c', "collective", "", "collective calls", flag(o.collective)});
  table.push_back({'F', "filePerProc", "", "a file for each rank", flag(o.file_per_process)});
  table.push_back(
      {'z', "randomOffset", "", "transfers of the whole file dealt to ranks at random", flag(o.random)});
  table.push_back({'V', "useFileView", "", "MPIIO: through a file view", flag(o.file_view)});
  table.push_back({0, "preset", "NAME", "a pattern by name; options after it change it",
                   [&](auto& v) { apply_preset(o, v); }});
  table.push_back({0, "list-presets", "", "lists the patterns", flag(o.list_presets)});
  table.push_back({0, "at-least", "SIZE", "raise -s until the file has this size", size(o.at_least)});
  table.push_back({0, "at-most", "SIZE", "cut -s so that the file is not larger", size(o.at_most)});
}

void add_action_options(Table& table, IorOptions& o) {
  table.push_back({'w', "writeFile", "", "write", flag(o.write)});
  table.push_back({'r', "readFile", "", "read", flag(o.read)});
  table.push_back({'W', "checkWrite", "", "check the file after writing", flag(o.check_write)});
  table.push_back({'R', "checkRead", "", "check all that is read", flag(o.check_read)});
  table.push_back({'e', "fsync", "", "sync before close", flag(o.fsync)});
  table.push_back({'Y', "fsyncPerWrite", "", "sync after every write", flag(o.fsync_per_write)});
  table.push_back({'n', "noFill", "", "do not fill the buffer before each write", flag(o.no_fill)});
  table.push_back({'i', "repetitions", "N", "repetitions (1)", number(o.repetitions, 1, 100000)});
  table.push_back({'o', "testFile", "FILE", "file name (testFile)", [&](auto& v) { o.file = v; }});
  table.push_back({'C', "reorderTasks", "", "read what rank + Q wrote", flag(o.reorder)});
  table.push_back({'Z', "reorderTasksRandom", "", "read what a random rank wrote", flag(o.reorder_random)});
  table.push_back(
      {'X', "reorderTasksRandomSeed", "N", "seed of -Z (0)", number(o.reorder_seed, 0, 1L << 30)});
  table.push_back({'Q', "taskPerNodeOffset", "N", "Q of -C (1)", number(o.reorder_offset, 0, 1L << 20)});
  table.push_back({'k', "keepFile", "", "leave the file", flag(o.keep)});
  table.push_back({'K', "keepFileWithError", "", "leave a file that is wrong", flag(o.keep_on_error)});
  table.push_back({'m', "multiFile", "", "a new file for each repetition", flag(o.multi_file)});
  table.push_back({'u', "uniqueDir", "", "with -F: a directory for each rank", flag(o.unique_directory)});
  table.push_back({'E', "useExistingTestFile", "", "do not remove the file first", flag(o.use_existing)});
  table.push_back(
      {'g', "intraTestBarriers", "", "barriers between open, transfers and close", flag(o.barriers)});
  table.push_back(
      {'d', "interTestDelay", "SECONDS", "pause before each repetition (0)", number(o.delay_s, 0, 3600)});
  table.push_back({'q', "quitOnError", "", "stop everything at the first error", flag(o.quit_on_error)});
  table.push_back({'G', "setTimeStampSignature", "N", "seed of the data (0)",
                   [&](auto& v) { o.seed = static_cast<std::uint64_t>(parse_number(v, 0, 1L << 40)); }});
  table.push_back({'v', "verbose", "", "accepted: all there is stands in the JSON", [](auto&) {}});
  table.push_back(
      {0, "hint", "NAME=VALUE", "an MPI_Info hint for MPI_File_open", [&](auto& v) { add_hint(o, v); }});
  table.push_back(
      {0, "no-warm", "", "do not touch and free memory before each run", [&](auto&) { o.warm = false; }});
  table.push_back({'h', "help", "", "this text", flag(o.help)});
}

// IOR has these; here they are refused by name, never ignored.
void add_refusals(Table& table) {
  struct Refusal {
    char letter;
    const char* name;
    const char* reason;
  };
  static const Refusal refusals[] = {
      {'A', "refNum", "results carry their parameters instead"},
      {'B', "useO_DIRECT", "bench/limit measures O_DIRECT"},
      {'D', "deadlineForStonewalling", "a run that stops early cannot be verified; choose -s or --at-most"},
      {'f', "scriptFile", "run the program once for each test"},
      {'H', "showHints", "set hints with --hint"},
      {'I', "individualDataSets", "it was for HDF5 and NetCDF files"},
      {'j', "outlierThreshold", "min, median and max are reported"},
      {'J', "setAlignment", "it is for HDF5 and Lustre"},
      {'l', "dataPacketType", "the data always depends on the file offset"},
      {'M', "memoryPerNode", "memory is warmed, not filled"},
      {'N', "numTasks", "start that many ranks with the launcher"},
      {'O', "directives", "use the options themselves"},
      {'p', "preallocate", "the pipeline under test decides that"},
      {'P', "useSharedFilePointer", "IOR itself dropped it"},
      {'S', "useStridedDatatype", "bench/subarray measures derived types"},
      {'T', "maxTimeDuration", "bound the run with timeout(1)"},
      {'U', "hintsFileName", "set hints with --hint"},
      {'x', "singleXferAttempt", "every transfer is tried once and counted"},
      {'y', "dualMount", "there is one path"},
  };
  for (const Refusal& refusal : refusals) {
    const std::string text = std::string(refusal.name) + " of IOR is not supported: " + refusal.reason;
    table.push_back({refusal.letter, refusal.name, "", "", [text](auto&) { throw BadUsage(text); }});
  }
}

Table make_table(IorOptions& o) {
  Table table;
  add_pattern_options(table, o);
  add_action_options(table, o);
  add_refusals(table);
  return table;
}

// [at_least, at_most] bound the bytes of the shared file, or of all files of the ranks together.
void fit_segments(IorOptions& o, int ranks) {
  const std::uint64_t segment = o.block * static_cast<std::uint64_t>(ranks);
  if (o.at_least > 0) o.segments = std::max(o.segments, (o.at_least + segment - 1) / segment);
  if (o.at_most > 0) o.segments = std::max<std::uint64_t>(1, std::min(o.segments, o.at_most / segment));
}

void check(const IorOptions& o) {
  if (o.transfer == 0 || o.block == 0) throw BadUsage("-t and -b must not be 0");
  if (o.block % o.transfer != 0) throw BadUsage("-b must be a multiple of -t");
  if (o.transfer > 1ULL << 30) throw BadUsage("-t must be at most 1g: MPI counts bytes in an int");
  if (o.api == "POSIX" && (o.collective || o.file_view || !o.hints.empty())) {
    throw BadUsage("-c, -V and --hint need -a MPIIO");
  }
  if (o.random && (o.collective || o.file_view)) {
    throw BadUsage("-z deals unequal numbers of transfers to ranks: not with -c or -V (as in IOR)");
  }
  if (o.random && (o.reorder || o.reorder_random) && o.file_per_process) {
    throw BadUsage("-z with -F does not go with -C or -Z");
  }
  if (o.reorder && o.reorder_random) throw BadUsage("-C and -Z exclude each other");
  if (o.unique_directory && !o.file_per_process) throw BadUsage("-u needs -F");
  if (o.no_fill && (o.check_write || o.check_read))
    throw BadUsage("-n leaves nothing to check: not with -W or -R");
  if (o.check_write && !o.write) throw BadUsage("-W needs -w; to check an existing file use -r -R -E -k");
  if (o.check_read && !o.read) throw BadUsage("-R needs -r");
}

}  // namespace

IorOptions parse_ior(int argc, char** argv, int ranks) {
  IorOptions options;
  parse_arguments(argc, argv, make_table(options));
  if (options.help || options.list_presets) return options;
  if (!options.write && !options.read) options.write = options.read = true;
  check(options);
  fit_segments(options, ranks);
  return options;
}

std::string ior_help() {
  IorOptions unused;
  return "ior: access patterns of IOR, timed from open to close (JSON). Names and meaning are IOR's.\n" +
         describe(make_table(unused));
}

}  // namespace bench
