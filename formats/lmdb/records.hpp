// Opens LMDB values that are records as samples of several fields.
#pragma once

#include <cstdint>

#include <formats/lmdb/listing.hpp>
#include <formats/lmdb/values.hpp>
#include <penstock/formats/index/index.hpp>

namespace penstock {

/// One sample for each value, its whole name the key. Elements are raw fields of fixed shape where all samples agree on
/// dtype and shape, else .npy values. Reads every record twice, without its payload. Returns how many members of
/// records were left out. Throws Error, with key and offset.
std::uint64_t index_records(IndexBuilder& builder, std::uint32_t file, const LmdbListing& listing, LmdbRecords& records,
                            LmdbRecords::Kind kind);

}  // namespace penstock
