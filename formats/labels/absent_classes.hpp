// Explains why a dataset has no labels although its folders could be classes.
#pragma once

#include <string>

#include <penstock/dataset.hpp>

namespace penstock {

struct AbsentClasses {
  std::string cause;  ///< for users: "loose.jpg" is not in a class folder; empty if there is nothing to report
  /// True if most samples are in class folders, so that a few files caused the loss of all labels.
  bool almost = false;
};

/// For a folder of files or a zip archive without a field `cls`: returns the first file that prevents its folders from
/// being classes, by the rule in folder/folder.hpp.
/// For a tar whose members are in folders: the cause is that folders in a tar are not labels.
///
/// Examines every sample. Empty for other formats, for datasets packed by penstock, and for datasets with a `cls`.
AbsentClasses absent_classes(const Dataset& dataset);

}  // namespace penstock
