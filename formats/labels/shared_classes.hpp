// Gives the classes of several shards a common numbering.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <formats/dataset.hpp>
#include <penstock/dataset.hpp>

namespace penstock {

/// Returns the class number in a value of codec "cls" (ASCII decimal). Returns nothing if it is not below `classes`.
std::optional<std::uint64_t> class_number(std::span<const std::byte> value, std::uint64_t classes);

/// The first difference between two lists of class names.
struct ClassDifference {
  std::size_t number;         ///< of the first class that differs
  std::string first, second;  ///< its name in each list, in quotes; "2 classes" for the shorter list
};
ClassDifference class_difference(std::span<const std::string> first, std::span<const std::string> second);

/// Returns the names of the classes of all shards; position = class index.
///
/// Shards whose classes are their first-level folders (attribute "layout": "class folders") number them from 0 each.
/// Their classes become the sorted union of the names, as if all archives were unpacked into one folder, and the labels
/// (field `cls`) of the shards are renumbered (Dataset::Shard::renamed). The labels of shards that store a list of
/// names (attribute "classes"; penstock.json beside a shard that is opened as a file) refer to that list, so all lists
/// must be equal. A shard without a list is assumed to use the list of the others.
///
/// `wanted`: use these names in this order instead (OpenOptions::classes). Folders may lack some of them.
///
/// Throws Error: invalid_argument, with both shards, if stored lists differ; invalid_argument, with the shard, if it
/// has a class that is not in `wanted`, or stores another list. Throws all Errors of reading penstock.json.
std::vector<std::string> share_classes(std::vector<Dataset::Shard>& shards,
                                       const std::vector<std::string>& wanted = {});

}  // namespace penstock
