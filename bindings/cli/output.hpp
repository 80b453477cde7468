// Writes a command's output to stdout, and tells when the command should stop.
#pragma once

#include <cstddef>
#include <exception>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace penstock::cli {

/// The reader of stdout is gone (`penstock ls DATASET | head`): the command ends quietly.
struct BrokenPipe : std::exception {};

/// Writes all of it. Throws BrokenPipe; Error: io (a full disk behind a redirection).
void print(std::string_view text);
void print(std::span<const std::byte> bytes);
/// Prints the text where the path is "-", else makes a file of it. Throws Error: io, beside what print() throws.
void write_report(const std::string& path, std::string_view text);
/// Checks the paths of a command's reports before it measures. Skips empty paths. Throws Error: io, where
/// write_report() would find no folder, and invalid_argument, where two reports would be one file, or both are for
/// stdout.
void require_writable(std::initializer_list<std::string> reports);

/// From now on SIGINT and SIGTERM make interrupted() true; a second one ends the process at once. SIGPIPE is ignored.
void catch_signals();
bool interrupted();

}  // namespace penstock::cli
