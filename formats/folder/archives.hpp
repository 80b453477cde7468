// Finds archives in a folder of files that are probably not meant as values of samples.
#pragma once

#include <filesystem>
#include <optional>

namespace penstock {

/// Returns the first archive (tar, HDF5, TFRecord, LMDB, MDS, Parquet, Arrow; ZIP at the top level) below a folder
/// without images, arrays and clouds, as a path relative to the folder. Returns nothing if the folder has one of these,
/// or no archive: an archive beside a photograph is one of its fields. Throws the errors of walk_folder().
std::optional<std::filesystem::path> archive_without_media(const std::filesystem::path& folder);

}  // namespace penstock
