// Reads the JSON reports of penstock run, bench and tune.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include <overview/reports/comparison.hpp>

namespace penstock::overview {

enum class FileKind : std::uint8_t { other, trace, run, bench };
std::string_view name(FileKind kind);  ///< "a report of penstock run"

/// Finds the kind from the names of the members at the top. Reads no further than needed. Throws Error: io;
/// invalid_argument, for a pipe.
FileKind kind_of_file(const std::filesystem::path& path);

/// Reads a report, plain or with gzip. `kind` is run or bench. Throws Error: io; corrupt (not complete JSON, or a
/// member is missing or invalid); unsupported (a later format, or no times).
Report read_report(const std::filesystem::path& path, FileKind kind);

}  // namespace penstock::overview
