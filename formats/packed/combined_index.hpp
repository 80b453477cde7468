// The indexes of all shards of a packed dataset in one file, so that a store needs only one request.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <formats/index/index.hpp>
#include <formats/io/file_bytes.hpp>
#include <formats/packed/manifest.hpp>

namespace penstock {

/// In a packed dataset of several shards. The file repeats their .idx files and may be missing.
inline constexpr const char* kCombinedIndexName = "penstock.idx";
inline constexpr std::uint64_t kLongestCombinedIndex = std::uint64_t{2} << 30;

/// Returns the first bytes of the file: a header and the location of each index. The indexes follow, each at the next
/// multiple of 8.
std::vector<std::byte> combined_index_header(std::span<const std::uint64_t> lengths, std::uint64_t manifest_hash);

/// Returns the padding to the next multiple of 8.
constexpr std::uint64_t gap_to_eight(std::uint64_t length) {
  return -length & 7U;
}

/// Returns the indexes of the manifest's shards, in its order. They share the bytes. Returns nothing if the indexes are
/// incomplete or do not match the manifest's checksums. The header must contain `manifest_hash`, if given.
std::optional<std::vector<Index>> combined_indexes(const std::shared_ptr<const FileBytes>& file,
                                                   const std::filesystem::path& place, const Manifest& manifest,
                                                   std::optional<std::uint64_t> manifest_hash);

/// Writes the combined index of a dataset of two or more shards beside the .idx files, and replaces an existing one.
/// Does nothing for indexes of more than kLongestCombinedIndex bytes. Throws Error: io.
void write_combined_index(const std::filesystem::path& folder, const Manifest& manifest);

}  // namespace penstock
