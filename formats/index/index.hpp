// The index of one shard, or of one folder of files: sample order, keys, and the location of every field's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <formats/extent.hpp>
#include <penstock/schema.hpp>

namespace penstock {

class FileBytes;
class MadeSamples;

/// A file that the index refers to.
struct IndexedFile {
  std::string path;    ///< relative to the folder the dataset was opened at, or absolute
  std::uint64_t size;  ///< bytes when indexed
  /// Stamp of the content, chosen by the format (tar: hash of first and last header, LMDB: transaction id).
  std::uint64_t stamp;
  friend bool operator==(const IndexedFile&, const IndexedFile&) = default;
};

/// Checksums for values that may be read in part: the CRC-32C of each kRange bytes of a value. The last range may be
/// shorter.
class RangeSums {
 public:
  static constexpr std::uint64_t kRange = 64 << 10;
  RangeSums() = default;
  RangeSums(std::uint64_t number, std::span<const std::byte> sums) : first(number), sums_(sums) {}

  std::uint64_t size() const { return sums_.size() / sizeof(std::uint32_t); }
  std::uint32_t operator[](std::uint64_t range) const {
    std::uint32_t sum;
    std::memcpy(&sum, sums_.data() + range * sizeof(sum), sizeof(sum));
    return sum;
  }
  std::uint64_t first = 0;  ///< number of the value's first range among all ranges of the index, or of the dataset

 private:
  std::span<const std::byte> sums_;
};

/// An immutable index, in memory or, if large, mapped from its .idx file. Opening parses only the header and makes one
/// pass over the bytes for the checksum. Any number of threads may read it. If a mapped file is truncated while in use,
/// reads throw Error: io from then on. Copies share the bytes.
class Index {
 public:
  /// Throws Error: io; resource; corrupt, if the file is not a complete index or a checksum differs; unsupported, for
  /// another version. A valid checksum does not justify trust, because anyone can compute one. Therefore numbers are
  /// checked when used, and every accessor may throw Error: corrupt.
  static Index open(const std::filesystem::path& path);
  /// The same for the bytes of `path` in memory. The index begins at byte `skip`, a multiple of 8.
  static Index open(FileBytes file, const std::filesystem::path& path, std::size_t skip = 0);
  /// The same for one of several indexes in a file, of at most `length` bytes.
  static Index open(std::shared_ptr<const FileBytes> file, const std::filesystem::path& path, std::size_t skip,
                    std::size_t length);
  static Index from_bytes(std::vector<std::byte> bytes);
  /// An index of samples that are computed on request. The index has no bytes(), and no files or blocks of its own.
  static Index of(std::shared_ptr<const MadeSamples> samples);

  Index(const Index&);
  Index& operator=(const Index&);
  Index(Index&&) noexcept;
  Index& operator=(Index&&) noexcept;
  ~Index();

  std::uint64_t size() const;       ///< samples
  const MadeSamples* made() const;  ///< the samples passed to of(), else null
  std::span<const FieldSchema> fields() const;
  std::uint32_t file_count() const;
  IndexedFile file(std::uint32_t number) const;
  std::string_view key(std::uint64_t sample) const;
  /// Returns the first sample with that key. Takes logarithmic time if the keys are in bytewise order, else linear.
  std::optional<std::uint64_t> find(std::string_view key) const;

  /// Replaces `pieces` by those of a field. Returns false, with no pieces, if the sample lacks the field. Extents are
  /// inside their files (with their size when indexed), slices inside their blocks, and fill patterns inside the
  /// field's shape.
  bool locate(std::uint64_t sample, std::uint32_t field, std::vector<Piece>& pieces) const;
  std::uint64_t length(std::uint64_t sample, std::uint32_t field) const;  ///< bytes of the field, 0 if absent
  bool complete(std::uint32_t field) const;                               ///< true if every sample has the field
  std::optional<std::uint32_t> crc32c(std::uint64_t sample, std::uint32_t field) const;
  /// Data that the field's codec needs before it reads the bytes. Empty if none was recorded.
  std::span<const std::byte> header(std::uint64_t sample, std::uint32_t field) const;
  /// Checksums of a value longer than one range. Empty for other values, and if none were recorded.
  RangeSums range_sums(std::uint64_t sample, std::uint32_t field) const;
  std::uint64_t range_count() const;  ///< of all values
  std::uint32_t block_count() const;
  Block block(std::uint32_t number) const;

  /// JSON text stored with the index: class names, format, numbers of left-out items; "{}" if there is none.
  std::string_view attributes() const;
  /// Polynomial hash of the keys in order. The hash of a concatenation is first * power(second.size()) + second.
  /// Therefore the hash of a dataset does not depend on the distribution of its samples over shards.
  std::uint64_t key_hash() const;
  std::span<const std::byte> bytes() const;  ///< content of the .idx file
  /// Verifies the checksum of the whole index again. Throws Error: corrupt.
  void verify() const;

 private:
  struct State;
  explicit Index(std::unique_ptr<State> state);
  std::shared_ptr<State> state_;  // immutable after construction
};

/// Returns the multiplier of key_hash() raised to the power of `samples`.
std::uint64_t key_hash_power(std::uint64_t samples);

/// Builds an index sample by sample, in sample order.
class IndexBuilder {
 public:
  IndexBuilder();
  ~IndexBuilder();
  IndexBuilder(IndexBuilder&&) noexcept;
  IndexBuilder& operator=(IndexBuilder&&) noexcept;

  std::uint32_t add_file(IndexedFile file);
  void set_file_size(std::uint32_t file, std::uint64_t size);  ///< for a file that grew after it was added
  /// Returns the number of the field with that name, and adds the field on first use. A later call with another codec
  /// does not change the codec.
  std::uint32_t field(const FieldSchema& schema);
  std::uint32_t add_block(const Block& block);
  /// Begins a sample. The following set() calls belong to it. Setting a field twice throws Error: corrupt, with key and
  /// field.
  void add_sample(std::string_view key);
  void set(std::uint32_t field, const Extent& extent, std::optional<std::uint32_t> crc32c = std::nullopt);
  /// Copies inline bytes. An empty list of pieces is a value of no bytes.
  void set(std::uint32_t field, std::span<const Piece> pieces, std::optional<std::uint32_t> crc32c = std::nullopt);
  void set_header(std::uint32_t field, std::span<const std::byte> header);
  /// As in RangeSums, for a value longer than one range.
  void set_range_sums(std::uint32_t field, std::span<const std::uint32_t> sums);
  void set_attributes(std::string json);
  bool has(std::uint32_t field) const;  ///< true if the current sample already has the field
  std::uint64_t size() const;
  std::string_view key(std::uint64_t sample) const;  ///< valid until the next sample is added

  /// Sorts the samples by keys and the fields by names, both bytewise, so that the index does not depend on the order
  /// of calls. The numbers of fields change. No sample may be added afterwards.
  void sort();

  Index finish() &&;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
