// Objects whose blocks tests put into a disk cache, and what its folder takes of the disk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <support/stored_rows.hpp>
#include <vector>

#include <sys/stat.h>

#include <formats/places/object_store.hpp>
#include <storage/disk_cache/disk_cache.hpp>

namespace penstock::test {

inline StoredObject object_of(std::uint32_t number, std::uint64_t size, const std::string& version = "v1") {
  return {"s3://bucket/" + std::to_string(number), {.size = size, .version = version, .modified = 1}};
}

/// The right bytes of a block of object `file`, which has `size` bytes.
inline std::vector<std::byte> block_of(const CachedObject& object, std::uint32_t file, std::uint64_t block,
                                       std::uint64_t size) {
  const std::uint64_t begin = block * object.block_bytes();
  std::vector<std::byte> bytes(std::min(object.block_bytes(), size - begin));
  StoredRows::fill(file, begin, bytes);
  return bytes;
}

/// What the files of a folder take of the disk.
inline std::uint64_t taken_by(const std::filesystem::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    struct stat found {};
    if (::lstat(entry.path().c_str(), &found) == 0) bytes += static_cast<std::uint64_t>(found.st_blocks) * 512;
  }
  return bytes;
}

}  // namespace penstock::test
