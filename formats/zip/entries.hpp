// Lists the entries of a zip archive, checked, and where their data lie.
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
  std::string name;        ///< UTF-8, without a leading "./" or "/"; of a folder, without the slash at its end
  bool is_folder = false;  ///< the numbers below are 0
  std::uint16_t method = 0;
  std::uint32_t crc32 = 0;    ///< of the plain bytes
  std::uint64_t stored = 0;   ///< bytes of data in the archive
  std::uint64_t plain = 0;    ///< bytes once decompressed
  std::uint64_t header = 0;   ///< offset of the local header
  std::uint64_t data = 0;     ///< offset of the data, all inside the file
  std::uint64_t central = 0;  ///< offset of the entry in the central directory
};

/// The folders and files of the archive in the order of its central directory; left out are hidden names, "__MACOSX/"
/// and what is neither (symbolic links). Local headers are read in the order of the file, many at a time.
///
///   | local header, name, extra | data | (descriptor) | ... | central directory | (zip64 records) | end record,
///   comment |
///     30 bytes                                             46 bytes an entry     56 + 20 bytes     22 bytes
///
/// Bytes before the archive (self-extracting) and behind it are passed over. What memory it takes follows from the
/// directory's size, which must lie inside the file.
/// Throws Error: io; corrupt, with shard and offset (no directory, records that contradict one another, entries that
/// overlap, sizes beyond what the method can make); unsupported, naming entry and method (encryption, methods other
/// than stored, deflate and, where libzstd is linked, zstd; several disks).
/// Source: PKWARE APPNOTE 6.3.10.
std::vector<ZipEntry> read_zip_entries(HeaderWindow& file);

/// A hash of the central directory and of all behind it: of the names, places, sizes and checksums of all entries.
/// Throws Error: io, corrupt, unsupported.
std::uint64_t zip_stamp(HeaderWindow& file);
/// True when `shard` still has the directory of which index() put the zip_stamp into the index. Throws Error: io.
bool zip_proves(const std::filesystem::path& shard, const Index& index, const OpenProgress& progress);

/// True when the entry's bytes stand in the archive as they are.
bool is_stored(const ZipEntry& entry);
/// The entry's data and how to undo them, with a check of the CRC-32.
Block block_of(const ZipEntry& entry, std::uint32_t file);

/// True when the file ends as a zip archive does.
bool ends_as_zip(const std::filesystem::path& path);

}  // namespace penstock
