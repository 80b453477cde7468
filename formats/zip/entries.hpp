// Lists and validates the entries of a zip archive, and locates their data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/places/header_window.hpp>
#include <penstock/dataset.hpp>

namespace penstock {

struct ZipEntry {
  std::string name;        ///< UTF-8, without a leading "./" or "/"; for a folder, without the trailing slash
  bool is_folder = false;  ///< true: the numbers below are 0
  std::uint16_t method = 0;
  std::uint32_t crc32 = 0;    ///< of the plain bytes
  std::uint64_t stored = 0;   ///< bytes of data in the archive
  std::uint64_t plain = 0;    ///< bytes after decompression
  std::uint64_t header = 0;   ///< offset of the local header
  std::uint64_t data = 0;     ///< offset of the data, all inside the file
  std::uint64_t central = 0;  ///< offset of the entry in the central directory
};

/// Returns the folders and files of the archive in the order of its central directory, except hidden names, "__MACOSX/"
/// and other kinds of entries (symbolic links). Reads local headers in the order of the file, many at a time.
///
///   | local header, name, extra | data | (descriptor) | ... | central directory | (zip64 records) | end record,
///   comment |
///     30 bytes                                             46 bytes an entry     56 + 20 bytes     22 bytes
///
/// Skips bytes before the archive (self-extracting) and after it. The memory needed depends on the directory's size,
/// and the directory must be inside the file. Throws Error: io; corrupt, with shard and offset (no directory,
/// contradicting records, overlapping entries, sizes that the method cannot produce); unsupported, with entry and
/// method (encryption, methods other than stored, deflate and, if libzstd is linked, zstd; several disks). Source:
/// PKWARE APPNOTE 6.3.10.
std::vector<ZipEntry> read_zip_entries(HeaderWindow& file);

/// Returns a hash of the central directory and of all following bytes. The hash covers the names, locations, sizes and
/// checksums of all entries. Throws Error: io, corrupt, unsupported.
std::uint64_t zip_stamp(HeaderWindow& file);
/// Returns true if the directory of `shard` still has the zip_stamp that index() put into the index. Throws Error: io.
bool zip_proves(const std::filesystem::path& shard, const Index& index, const OpenProgress& progress);

/// Returns true if the entry's bytes are uncompressed in the archive.
bool is_stored(const ZipEntry& entry);
/// Returns the entry's data with the filters that decompress them and verify the CRC-32.
Block block_of(const ZipEntry& entry, std::uint32_t file);

/// Returns true if the file ends like a zip archive.
bool ends_as_zip(const std::filesystem::path& path);

}  // namespace penstock
