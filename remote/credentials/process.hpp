// Programs that give credentials.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// A command line as AWS's tools split it: blanks divide words but inside quotes, a backslash takes the next character
/// as it is (not between single quotes). Throws Error: invalid_argument, for an open quote or no word.
std::vector<std::string> words_of(std::string_view command);

/// What the program writes to its standard output; its errors go nowhere, since they may tell secrets. Throws Error:
/// io, when it cannot be started, fails, writes more than 1 MiB, or takes longer than `patience`: it is ended then.
std::string output_of(const std::vector<std::string>& words, std::chrono::milliseconds patience);

}  // namespace penstock
