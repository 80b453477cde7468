// Tells the addresses where datasets are written from paths.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace penstock {

/// "s3://bucket/train", also of "s3:/bucket/train/", which std::filesystem and Python's pathlib make of it; nothing for
/// a path, and for addresses where penstock does not write: require_writable_place() refuses those. Where a folder
/// "s3:" exists, it is a path.
std::optional<std::string> store_destination(const std::filesystem::path& destination);

}  // namespace penstock
