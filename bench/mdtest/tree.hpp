// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "mdtest/settings.hpp"

namespace bench::mdtest {

// The directories of one tree in a folder, and the items of one rank in them. Directory 0 is the root; those
// in directory k have the numbers branches * k + 1 and following. Item i is in directory i / items_per_dir.
class Tree {
 public:
  // `name` is that of the tree, `owner` part of the items' names: "file.mdtest.OWNER.7".
  Tree(const Settings& s, const std::string& folder, const std::string& name, const std::string& owner);

  // Paths of all directories, each after the one that it is in, a branch before the next.
  const std::vector<std::string>& directories() const { return in_order_; }

  std::uint64_t first_item() const { return first_item_; }
  std::uint64_t items() const { return items_; }
  // In the order in which they are made: by directory, as above.
  const std::vector<std::uint64_t>& creation_order() const { return order_; }

  // The path of an item; good until the next call. Not thread safe.
  const char* file(std::uint64_t item) { return path("/file.mdtest.", item); }
  const char* dir(std::uint64_t item) { return path("/dir.mdtest.", item); }

 private:
  const char* path(const char* kind, std::uint64_t item);
  void add(const Settings& s, const std::string& name, const std::string& inside, std::uint64_t number,
           long level);

  std::string owner_, path_;
  std::uint64_t first_item_ = 0, items_, items_per_dir_;
  std::vector<std::string> by_number_, in_order_;
  std::vector<std::uint64_t> order_;
};

}  // namespace bench::mdtest
