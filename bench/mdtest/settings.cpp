// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "mdtest/settings.hpp"

#include "common/args.hpp"

namespace bench::mdtest {
namespace {

using Table = std::vector<Option>;

auto flag(bool& target) {
  return [&target](const std::string&) { target = true; };
}
auto number(long& target, long low, long high) {
  return [&target, low, high](const std::string& value) { target = parse_number(value, low, high); };
}
auto count(std::uint64_t& target, long low) {
  return [&target, low](const std::string& value) {
    target = static_cast<std::uint64_t>(parse_number(value, low, 1L << 40));
  };
}
auto size(std::uint64_t& target) {
  return [&target](const std::string& value) { target = parse_size(value); };
}

void add_options(Table& table, Settings& s) {
  table.push_back({'n', "", "N", "items of each rank in the whole tree", count(s.items, 1)});
  table.push_back({'I', "", "N", "items of each rank in each directory", count(s.items_per_dir, 1)});
  table.push_back(
      {'d', "", "DIR", "where; made if it is not there (./out)", [&](auto& v) { s.directory = v; }});
  table.push_back({'i', "", "N", "iterations (1)", number(s.iterations, 1, 100000)});
  table.push_back({'b', "", "N", "directories in a directory of the tree (1)", number(s.branches, 1, 10000)});
  table.push_back({'z', "", "N", "depth of the tree (0)", number(s.depth, 0, 64)});
  table.push_back({'L', "", "", "items at the lowest level only", flag(s.leaf_only)});
  table.push_back({'u', "", "", "a tree for each rank", flag(s.unique)});
  table.push_back({'F', "", "", "files only", flag(s.files)});
  table.push_back({'D', "", "", "directories only", flag(s.dirs)});
  table.push_back({'C', "", "", "only create", flag(s.create)});
  table.push_back({'T', "", "", "only stat", flag(s.stat)});
  table.push_back({'E', "", "", "only read (files)", flag(s.read)});
  table.push_back({'r', "", "", "only remove what an earlier run left", flag(s.remove)});
  table.push_back({'U', "", "", "only rename (directories)", flag(s.rename)});
  table.push_back({'R', "", "", "stat and read in random order", flag(s.random)});
  table.push_back({0, "random-seed", "N", "seed of -R (0)", number(s.random_seed, 0, 1L << 30)});
  table.push_back({'w', "", "SIZE", "bytes written to each file (0)", size(s.write_bytes)});
  table.push_back({'e', "", "SIZE", "bytes read from each file (0)", size(s.read_bytes)});
  table.push_back({'y', "", "", "fsync after writing", flag(s.fsync)});
  table.push_back({'X', "verify-read", "", "compare what is read", flag(s.verify_read)});
  table.push_back({'Y', "", "", "sync(2) after each phase, within its time", flag(s.sync_phases)});
  table.push_back(
      {'N', "", "N", "each phase works on what the rank N further made (0)", number(s.shift, 0, 1L << 30)});
  table.push_back({'S', "", "", "all ranks use the same files", flag(s.shared_file)});
  table.push_back({'c', "", "", "rank 0 creates and removes for all", flag(s.rank_0_creates)});
  table.push_back({'B', "", "", "no barriers between phases", [&](auto&) { s.barriers = false; }});
  table.push_back({'t', "", "", "with -u: count the wait before the first item", flag(s.time_unique)});
  table.push_back(
      {'p', "", "SECONDS", "pause before directories and before files (0)", number(s.delay_s, 0, 3600)});
  table.push_back({'f', "", "N", "first number of ranks (all)", number(s.first, 1, 1L << 30)});
  table.push_back({'l', "", "N", "last number of ranks", number(s.last, 1, 1L << 30)});
  table.push_back({'s', "", "N", "step of the number of ranks (1)", number(s.stride, 1, 1L << 30)});
  table.push_back({'v', "", "", "accepted: all there is stands in the JSON", [](auto&) {}});
  table.push_back({0, "limit-items", "N", "items of the limit, by one process; 0: not measured (10000)",
                   count(s.limit_items, 0)});
  table.push_back({'h', "help", "", "this text", flag(s.help)});
}

// MDTEST has these; here they are refused by name, never ignored.
void add_refusals(Table& table) {
  struct Refusal {
    char letter;
    const char* reason;
  };
  static const Refusal refusals[] = {
      {'a', "system calls are what is measured"},
      {'g', "it is for Lustre"},
      {'G', "the data depends on rank, item and offset alone"},
      {'k', "files are made by open"},
      {'P', "the JSON has rates and times"},
      {'V', "all there is stands in the JSON"},
      {'W', "a run that stops early cannot be verified; choose -n"},
      {'x', "it belongs to -W"},
      {'Z', "the JSON has rates and times"},
  };
  for (const Refusal& refusal : refusals) {
    const std::string text =
        std::string("-") + refusal.letter + " of MDTEST is not supported: " + refusal.reason;
    table.push_back({refusal.letter, "", "", "", [text](auto&) { throw BadUsage(text); }});
  }
}

Table make_table(Settings& s) {
  Table table;
  add_options(table, s);
  add_refusals(table);
  return table;
}

void check(const Settings& s, int ranks) {
  if ((s.items > 0) == (s.items_per_dir > 0)) throw BadUsage("give either -n or -I");
  if (s.directory.empty()) throw BadUsage("-d needs a directory");
  if (s.directory.find('@') != std::string::npos)
    throw BadUsage("-d takes one directory, not several with @");
  if (!s.barriers && s.shift != 0)
    throw BadUsage("-N without barriers (-B) would find what is not there yet");
  if (!s.barriers && s.rank_0_creates)
    throw BadUsage("-c without barriers (-B) would find what is not there yet");
  if (s.shared_file && s.rank_0_creates) throw BadUsage("-S and -c exclude each other");
  if (s.shared_file && s.unique) throw BadUsage("-S and -u exclude each other");
  if (s.shared_file && s.dirs) throw BadUsage("-S is for files: leave out -D");
  if (s.verify_read && (!s.read || s.read_bytes == 0)) throw BadUsage("-X needs files that are read, and -e");
  if (s.read_bytes > s.write_bytes && s.create) throw BadUsage("-e must not be more than -w");
  if (s.write_bytes > 1ULL << 30 || s.read_bytes > 1ULL << 30) throw BadUsage("-w and -e are at most 1g");
  if (s.last > ranks || s.first > ranks) {
    throw BadUsage("-f and -l are at most the number of ranks, " + std::to_string(ranks));
  }
  if (s.first > s.last) throw BadUsage("-f must not be more than -l");
}

// The number of directories in a tree, and how many items each has.
void size_tree(Settings& s) {
  for (long level = 0; level < s.depth; level++) {
    s.leaves *= static_cast<std::uint64_t>(s.branches);
    s.directories += s.leaves;
    if (s.directories > 1ULL << 32) throw BadUsage("-b and -z make more than 2^32 directories");
  }
  const std::uint64_t holders = s.leaf_only ? s.leaves : s.directories;
  if (s.items > 0) {
    s.items_per_dir = s.items / holders;
    if (s.items_per_dir == 0) {
      throw BadUsage("-n " + std::to_string(s.items) + " is less than one item for each of " +
                     std::to_string(holders) + " directories");
    }
  }
  s.items = s.items_per_dir * holders;
}

}  // namespace

Settings parse(int argc, char** argv, int ranks) {
  Settings s;
  parse_arguments(argc, argv, make_table(s));
  if (s.help) return s;
  if (!s.create && !s.stat && !s.read && !s.remove && !s.rename) {
    s.create = s.stat = s.read = s.remove = s.rename = true;
  }
  if (!s.files && !s.dirs) {
    s.files = true;
    s.dirs = !s.shared_file;
  }
  if (s.last == 0) s.first = s.last = ranks;
  if (s.first == 0) s.first = 1;
  check(s, ranks);
  size_tree(s);
  return s;
}

std::string help_text() {
  Settings unused;
  return "mdtest: operations on files and directories per second (JSON). Letters and meaning are "
         "MDTEST's.\n" +
         describe(make_table(unused));
}

}  // namespace bench::mdtest
