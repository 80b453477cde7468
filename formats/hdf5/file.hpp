// Reads an HDF5 file's superblock and bytes. All reads of HDF5 metadata use this class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <formats/hdf5/cursor.hpp>
#include <formats/io/byte_source.hpp>

namespace penstock {

/// Returns the offset of the superblock: 0, 512, 1024, 2048, ... (a user block precedes it). Returns nothing for other
/// files. Throws Error: io.
std::optional<std::uint64_t> hdf5_signature(const std::filesystem::path& file);

/// Returns a hash of the first and last 64 KiB and of the size. These parts contain the superblock, and metadata that
/// writers change.
std::uint64_t hdf5_stamp(const std::filesystem::path& file);

/// This class reads metadata without libhdf5, which crashes on some corrupt files, lists chunks in quadratic time and
/// holds one lock for the whole process. Nothing is trusted: every read is inside the file, and the total of all reads
/// is limited to a multiple of the file's size. Therefore cyclic references end in an error. For use by one thread at a
/// time. Source: HDF5 File Format Specification 3.0, which all sources of this folder follow.
class Hdf5File {
 public:
  /// Throws Error: io; corrupt (also for a file shorter than its superblock says); unsupported (open for writing or
  /// left so by a writer, several files in one, other versions).
  explicit Hdf5File(const std::filesystem::path& path);

  std::uint64_t size() const { return size_; }
  std::uint64_t root() const { return root_; }  ///< address of the top level's object header
  Hdf5Sizes sizes() const { return sizes_; }
  /// Converts an address to an offset from the start of the file, including the user block. Throws Error: corrupt, if
  /// it is outside.
  std::uint64_t offset_of(std::uint64_t address) const;

  /// Reads [address, address + length) of the metadata. Throws Error: io; corrupt, if the range is outside the file.
  std::vector<std::byte> read(std::uint64_t address, std::uint64_t length) const;
  /// The same, with a check that the last four bytes are the checksum of the others. Throws Error: corrupt, if they are
  /// not.
  std::vector<std::byte> read_checked(std::uint64_t address, std::uint64_t length) const;
  Hdf5Cursor cursor(std::span<const std::byte> bytes) const { return {bytes, sizes_}; }
  /// Counts work that metadata request without containing it (copies of a name, rows, chunks) as if that many bytes
  /// were read. Throws Error: corrupt, if the total exceeds the limit for a file of this size.
  void spend(std::uint64_t bytes) const;
  /// Returns whether a metadata cache image contains a part of these bytes, which may then be outdated in the file.
  bool overlaid(std::uint64_t address, std::uint64_t length) const;
  /// Reads stored values. They do not count as metadata, and `offset` is from the start of the file.
  void read_values(std::uint64_t offset, std::span<std::byte> bytes) const;

 private:
  static constexpr std::size_t kPageBytes = 4096;
  struct Page {
    std::uint64_t number = ~std::uint64_t{0};
    std::vector<std::byte> bytes;
  };

  /// Applies a metadata cache image, because the file itself may have older metadata.
  void overlay(std::span<const std::byte> image);
  void apply_overlay(std::uint64_t address, std::span<std::byte> bytes) const;
  void read_cache_image(std::uint64_t extension);
  void read_superblock(std::uint64_t start);
  void read_first_kind(Hdf5Cursor& cursor, unsigned version);
  void read_later_kind(Hdf5Cursor& cursor, unsigned version);
  const std::vector<std::byte>& page(std::uint64_t number) const;

  std::shared_ptr<const ByteSource> source_;
  std::uint64_t size_ = 0;
  std::uint64_t base_ = 0;
  std::uint64_t root_ = 0;
  Hdf5Sizes sizes_;
  std::map<std::uint64_t, std::vector<std::byte>> image_;  // by address, without overlaps
  mutable std::vector<Page> pages_;  // the last pages read: metadata come in small pieces close together
  mutable std::uint64_t left_ = 0;   // remaining bytes that may be read as metadata
};

}  // namespace penstock
