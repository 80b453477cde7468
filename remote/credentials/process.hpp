// Runs programs that provide credentials.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// Splits a command line as AWS's tools do. Blanks separate words except inside quotes. A backslash quotes the next
/// character, except inside single quotes. Throws Error: invalid_argument, if a quote is open or there is no word.
std::vector<std::string> words_of(std::string_view command);

/// Returns the program's standard output. Discards its error output, which may contain secrets. Throws Error: io, if
/// the program cannot be started, fails, writes more than 1 MiB, or takes longer than `patience`; in the last two cases
/// it is killed.
std::string output_of(const std::vector<std::string>& words, std::chrono::milliseconds patience);

}  // namespace penstock
