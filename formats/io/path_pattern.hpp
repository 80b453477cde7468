// Expands patterns that name many shards: "train-{000..146}.tar", "{a,b}/part-*.lmdb".
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// Returns whether the text has braces or wildcards (* ? [).
bool is_pattern(std::string_view text);

/// Expands braces like a shell, from left to right. {a,b} are alternatives, {8..11} are numbers up or down, {08..11}
/// has as many digits as the longer end. Other braces stay unchanged. Throws Error: invalid_argument, for more than
/// 100,000 words or 32 MiB.
std::vector<std::string> expand_braces(std::string_view text);

/// Returns the paths of a pattern: braces are expanded first, then wildcards, each in bytewise order. A word that is
/// the name of a file means that file. Words without a wildcard need not exist. Throws Error: invalid_argument; io.
std::vector<std::filesystem::path> expand_pattern(std::string_view pattern);

}  // namespace penstock
