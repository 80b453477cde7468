// The indexes of all shards of a packed dataset in one file, so that a store is asked once for them.
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

/// In a packed dataset of several shards. It repeats their .idx files and may be missing.
inline constexpr const char* kCombinedIndexName = "penstock.idx";
inline constexpr std::uint64_t kLongestCombinedIndex = std::uint64_t{2} << 30;

/// Its first bytes: a header and where each index lies. The indexes follow, each from the next multiple of 8 on.
std::vector<std::byte> combined_index_header(std::span<const std::uint64_t> lengths, std::uint64_t manifest_hash);

/// What a multiple of 8 is short of.
constexpr std::uint64_t gap_to_eight(std::uint64_t length) {
  return -length & 7U;
}

/// The indexes of the manifest's shards, in its order; they share the bytes. Nothing, where these are not the indexes
/// that the manifest's checksums name, or not whole. `manifest_hash`: what the header must hold; none: anything.
std::optional<std::vector<Index>> combined_indexes(const std::shared_ptr<const FileBytes>& file,
                                                   const std::filesystem::path& place, const Manifest& manifest,
                                                   std::optional<std::uint64_t> manifest_hash);

/// Writes it beside the .idx files of a dataset of two shards or more, in place of one that is there. Does nothing for
/// indexes of more than kLongestCombinedIndex bytes. Throws Error: io.
void write_combined_index(const std::filesystem::path& folder, const Manifest& manifest);

}  // namespace penstock
