// Expands patterns that name many shards: "train-{000..146}.tar", "{a,b}/part-*.lmdb".
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// Whether the text has braces or wildcards (* ? [).
bool is_pattern(std::string_view text);

/// Braces as a shell expands them, from left to right: {a,b} are alternatives, {8..11} numbers up or down, {08..11}
/// with as many digits as the longer end has; others stay as they are. Throws Error: invalid_argument, for more than a
/// million words or 256 MiB of them.
std::vector<std::string> expand_braces(std::string_view text);

/// The paths that a pattern stands for: braces first, then wildcards, each in bytewise order. A word that is the name
/// of a file stands for that file. Words without a wildcard need not exist. Throws Error: invalid_argument; io.
std::vector<std::filesystem::path> expand_pattern(std::string_view pattern);

}  // namespace penstock
