// Gives the classes of several shards one numbering.
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

/// The class number that a value of codec "cls" (ASCII decimal) holds; nothing if it is not below `classes`.
std::optional<std::uint64_t> class_number(std::span<const std::byte> value, std::uint64_t classes);

/// Where two lists of class names differ.
struct ClassDifference {
  std::size_t number;         ///< of the first class that differs
  std::string first, second;  ///< its name in each list, in quotes; "2 classes" for the list that is shorter
};
ClassDifference class_difference(std::span<const std::string> first, std::span<const std::string> second);

/// Names of the classes of all shards; position = class index.
///
/// Shards whose classes are their first-level folders (attribute "layout": "class folders") number them from 0 each.
/// Their classes become the sorted union of the names, as if all archives were unpacked into one folder, and the labels
/// (field `cls`) of the shards are renumbered (Dataset::Shard::renamed).
/// Shards that store a list of names (attribute "classes"; penstock.json beside a shard that is opened as a file)
/// follow it in their labels, so all lists must be equal. A shard without a list is taken to follow the others'.
///
/// `wanted`: these names in this order instead (OpenOptions::classes). Folders may lack some of them.
///
/// Throws Error: invalid_argument, naming both shards, if stored lists differ; invalid_argument, naming the shard, if
/// it has a class that is not in `wanted`, or stores another list. Throws all Errors of reading penstock.json.
std::vector<std::string> share_classes(std::vector<Dataset::Shard>& shards,
                                       const std::vector<std::string>& wanted = {});

}  // namespace penstock
