// Limits how many rows of an array an index may name.
#pragma once

#include <cstdint>

namespace penstock {

/// An index takes memory, and disk beside the data, for every row: for rows of a few bytes many times what the file
/// itself has. Up to 4 GiB, or the file's size, that is as it should be; beyond it the rows are hardly samples.
/// Throws Error: unsupported, with rows and bytes, before anything is allocated.
void require_row_limit(std::uint64_t rows, std::uint64_t fields, std::uint64_t file_bytes);

}  // namespace penstock
