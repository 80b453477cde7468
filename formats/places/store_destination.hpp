// Recognises addresses to which datasets are written.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace penstock {

/// Returns "s3://bucket/train", also for "s3:/bucket/train/", the form that std::filesystem and Python's pathlib make
/// of it. Returns nothing for a path, and for addresses that penstock cannot write: require_writable_place() refuses
/// those. If a folder "s3:" exists, the text is a path.
std::optional<std::string> store_destination(const std::filesystem::path& destination);

}  // namespace penstock
