// Reads the class names that `pack --classes` numbers by.
#pragma once

#include <string>
#include <vector>

namespace penstock::cli {

/// `from` is a text file with one name a line, or a dataset that knows its classes.
/// Throws Error: io; invalid_argument, when nothing there names a class.
std::vector<std::string> read_classes(const std::string& from);

}  // namespace penstock::cli
