// Finds archives in a folder of files that are hardly meant as values of samples.
#pragma once

#include <filesystem>
#include <optional>

namespace penstock {

/// The first archive (tar, HDF5, TFRecord, LMDB, MDS, Parquet, Arrow; ZIP at the top level) below a folder that holds
/// no image, array or cloud, as a path relative to it. None where there is something of these, or no archive: an
/// archive beside a photograph is one of its fields. Throws Error: what walk_folder() throws.
std::optional<std::filesystem::path> archive_without_media(const std::filesystem::path& folder);

}  // namespace penstock
