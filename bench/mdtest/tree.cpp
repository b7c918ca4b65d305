// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "mdtest/tree.hpp"

#include <charconv>

namespace bench::mdtest {

Tree::Tree(const Settings& s, const std::string& folder, const std::string& name, const std::string& owner)
    : owner_(owner + "."),
      items_(s.items),
      items_per_dir_(s.items_per_dir),
      by_number_(static_cast<std::size_t>(s.directories)) {
  if (s.leaf_only) first_item_ = items_per_dir_ * (s.directories - s.leaves);
  add(s, name, folder, 0, 0);
}

void Tree::add(const Settings& s, const std::string& name, const std::string& inside, std::uint64_t number,
               long level) {
  const std::string path = inside + "/" + name + "." + std::to_string(number);
  by_number_[static_cast<std::size_t>(number)] = path;
  in_order_.push_back(path);
  if (s.use_directory(level == s.depth)) {
    for (std::uint64_t i = 0; i < items_per_dir_; i++) order_.push_back(number * items_per_dir_ + i);
  }
  if (level == s.depth) return;
  const auto branches = static_cast<std::uint64_t>(s.branches);
  for (std::uint64_t i = 0; i < branches; i++) add(s, name, path, number * branches + 1 + i, level + 1);
}

const char* Tree::path(const char* kind, std::uint64_t item) {
  char digits[24];
  char* const end = std::to_chars(digits, digits + sizeof digits, item).ptr;
  path_ = by_number_[static_cast<std::size_t>(item / items_per_dir_)];
  path_ += kind;
  path_ += owner_;
  path_.append(digits, end);
  return path_.c_str();
}

}  // namespace bench::mdtest
