// Tells addresses of object stores and web servers from paths: penstock reads and writes files alone.
#pragma once

#include <filesystem>

namespace penstock {

/// Throws Error: unsupported, for the address of a store ("s3://bucket/train", also as std::filesystem and Python's
/// pathlib shorten it, "s3:/bucket/train"), saying how its files come to a disk. Where a folder "s3:" exists, it is a
/// path.
void require_readable_place(const std::filesystem::path& path);

/// The same of a destination, before a folder "s3:" is made.
void require_writable_place(const std::filesystem::path& path);

}  // namespace penstock
