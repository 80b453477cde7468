// Reads an HDF5 file's superblock and bytes. Everything that reads HDF5 metadata goes through it.
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

/// Where the superblock begins: 0, 512, 1024, 2048, ... (a user block lies before it); nothing in other files.
/// Throws Error: io.
std::optional<std::uint64_t> hdf5_signature(const std::filesystem::path& file);

/// Hash of the first and last 64 KiB and of the size: the superblock, and metadata that writers touch.
std::uint64_t hdf5_stamp(const std::filesystem::path& file);

/// Metadata is read here by code of our own, not by libhdf5, which ends the program on some broken files, lists chunks
/// in quadratic time and holds one lock for the whole process. Nothing is trusted: every read lies inside the file, and
/// all reads together are bounded by a multiple of its size, so that no structure that refers to itself goes on for
/// ever. One thread at a time.
/// Source: HDF5 File Format Specification 3.0, which all hdf5_*.cpp here follow.
class Hdf5File {
 public:
  /// Throws Error: io; corrupt (also a file shorter than its superblock says); unsupported (open for writing or left so
  /// by a writer, several files in one, other versions).
  explicit Hdf5File(const std::filesystem::path& path);

  std::uint64_t size() const { return size_; }
  std::uint64_t root() const { return root_; }  ///< address of the top level's object header
  Hdf5Sizes sizes() const { return sizes_; }
  /// Bytes from the start of the file to an address, behind the user block. Throws Error: corrupt, when outside.
  std::uint64_t offset_of(std::uint64_t address) const;

  /// [address, address + length) of the metadata. Throws Error: io; corrupt, when it lies outside the file.
  std::vector<std::byte> read(std::uint64_t address, std::uint64_t length) const;
  /// The same, and its last four bytes are the checksum of the others. Throws Error: corrupt, when they are not.
  std::vector<std::byte> read_checked(std::uint64_t address, std::uint64_t length) const;
  Hdf5Cursor cursor(std::span<const std::byte> bytes) const { return {bytes, sizes_}; }
  /// Counts what metadata ask for and do not hold (copies of a name, rows, chunks) as if so many bytes of them were
  /// read. Throws Error: corrupt, when no file of this size means that much.
  void spend(std::uint64_t bytes) const;
  /// Whether a metadata cache image has a part of these bytes: they may be stale in the file.
  bool overlaid(std::uint64_t address, std::uint64_t length) const;
  /// Stored values: not counted as metadata, and offset is from the start of the file.
  void read_values(std::uint64_t offset, std::span<std::byte> bytes) const;

 private:
  static constexpr std::size_t kPageBytes = 4096;
  struct Page {
    std::uint64_t number = ~std::uint64_t{0};
    std::vector<std::byte> bytes;
  };

  /// Takes what a metadata cache image says of metadata, which the file itself may have in an older state.
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
  std::map<std::uint64_t, std::vector<std::byte>> image_;  // by address; they do not overlap
  mutable std::vector<Page> pages_;  // the ones read last: metadata come in small pieces that lie close together
  mutable std::uint64_t left_ = 0;   // of what may be read as metadata
};

}  // namespace penstock
