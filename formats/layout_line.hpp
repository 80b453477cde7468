// Describes how a dataset was read and what was left out.
#pragma once

#include <map>
#include <string>

#include <penstock/dataset.hpp>

namespace penstock {

/// Names and reasons of everything that the indexes left out: {"tags", "lists of several byte strings (in 2 records)"}.
std::map<std::string, std::string> left_out(const Dataset& dataset);

/// Returns one line: "folder of files: class folders, 2 classes, keys end at the last dot; left out: 2 files that are
/// not fields of a sample, such as README.md". The line has the format, the layout, the number of shards, the options
/// of the open call, and everything that was left out.
std::string layout_line(const Dataset& dataset);

}  // namespace penstock
