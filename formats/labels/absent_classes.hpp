// Tells why a dataset has no labels, where folders could have been classes.
#pragma once

#include <string>

#include <penstock/dataset.hpp>

namespace penstock {

struct AbsentClasses {
  std::string cause;  ///< for people: "loose.jpg" lies in no class folder; empty where there is nothing to say
  /// Most samples lie as class folders have them, so that a few files took the labels of all.
  bool almost = false;
};

/// Of a folder of files or a zip archive without a field `cls`: the first file that keeps its folders from being
/// classes, by the rule in folder/folder.hpp. Of a tar whose members lie in folders: that these are no labels there.
/// Looks at every sample. Nothing for other packings, for what penstock packed, and where there is a `cls`.
AbsentClasses absent_classes(const Dataset& dataset);

}  // namespace penstock
