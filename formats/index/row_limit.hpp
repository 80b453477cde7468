// Limits how many rows of an array an index may contain.
#pragma once

#include <cstdint>

namespace penstock {

/// An index needs memory, and disk space beside the data, for every row. For rows of a few bytes it would be many times
/// larger than the file. Up to 4 GiB, or the file's size, is accepted. Beyond that, the rows are probably not samples.
/// Throws Error: unsupported, with rows and bytes, before anything is allocated.
void require_row_limit(std::uint64_t rows, std::uint64_t fields, std::uint64_t file_bytes);

}  // namespace penstock
