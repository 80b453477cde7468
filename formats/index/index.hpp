// The index of one shard, or of one folder of files: sample order, keys, and where every field's bytes lie.
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

/// A file that the index points into.
struct IndexedFile {
  std::string path;     ///< relative to the folder the dataset was opened at, or absolute
  std::uint64_t size;   ///< bytes when indexed
  std::uint64_t stamp;  ///< of content, chosen by the format (tar: hash of first and last header, LMDB: transaction id)
  friend bool operator==(const IndexedFile&, const IndexedFile&) = default;
};

/// Checksums of the parts of a value that may be read in part: CRC-32C of each kRange bytes of it, the last one
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
  std::uint64_t first = 0;  ///< number of the value's first range among all of the index, or of the dataset

 private:
  std::span<const std::byte> sums_;
};

/// An immutable index, held in memory or, where it is large, mapped from its .idx file. Nothing is parsed but the
/// header; opening costs one pass over the bytes for their checksum. Any number of threads may read it. A mapped one
/// that is cut short while in use gives Error: io from then on. Copies share the bytes.
class Index {
 public:
  /// Throws Error: io; resource; corrupt, when the file is not a whole index or its checksums differ; unsupported, when
  /// it is of another version. Nothing is believed for its checksum's sake, which anyone can compute: numbers are
  /// checked where they are used, and every accessor may throw Error: corrupt.
  static Index open(const std::filesystem::path& path);
  /// The same of what was read of `path`. The index begins `skip` bytes into it, a multiple of 8.
  static Index open(FileBytes file, const std::filesystem::path& path, std::size_t skip = 0);
  /// The same of one of several in a file: of at most `length` bytes.
  static Index open(std::shared_ptr<const FileBytes> file, const std::filesystem::path& path, std::size_t skip,
                    std::size_t length);
  static Index from_bytes(std::vector<std::byte> bytes);
  /// Of samples that are computed when they are asked for. It has no bytes(), and no files or blocks of its own.
  static Index of(std::shared_ptr<const MadeSamples> samples);

  Index(const Index&);
  Index& operator=(const Index&);
  Index(Index&&) noexcept;
  Index& operator=(Index&&) noexcept;
  ~Index();

  std::uint64_t size() const;       ///< samples
  const MadeSamples* made() const;  ///< those of of(); null: of none
  std::span<const FieldSchema> fields() const;
  std::uint32_t file_count() const;
  IndexedFile file(std::uint32_t number) const;
  std::string_view key(std::uint64_t sample) const;
  /// First sample of that key; logarithmic when the keys are in bytewise order, else linear.
  std::optional<std::uint64_t> find(std::string_view key) const;

  /// Replaces `pieces` by those of a field; false (and empty) when the sample lacks the field. Extents lie inside their
  /// files (as long as they were when indexed), slices inside their blocks, and fill patterns inside the field's shape.
  bool locate(std::uint64_t sample, std::uint32_t field, std::vector<Piece>& pieces) const;
  std::uint64_t length(std::uint64_t sample, std::uint32_t field) const;  ///< bytes of the field, 0 when absent
  bool complete(std::uint32_t field) const;                               ///< every sample has the field
  std::optional<std::uint32_t> crc32c(std::uint64_t sample, std::uint32_t field) const;
  /// What the field's codec wants to know before its bytes are read (empty when nothing was recorded).
  std::span<const std::byte> header(std::uint64_t sample, std::uint32_t field) const;
  /// Of a value longer than a range; empty for others, and where none were recorded.
  RangeSums range_sums(std::uint64_t sample, std::uint32_t field) const;
  std::uint64_t range_count() const;  ///< of all values
  std::uint32_t block_count() const;
  Block block(std::uint32_t number) const;

  /// JSON text that goes with the index: class names, format, counts of what was left out; "{}" when there is none.
  std::string_view attributes() const;
  /// Polynomial hash of the keys in order: of a concatenation it is first * power(second.size()) + second, so a
  /// dataset's hash does not depend on how its samples are spread over shards.
  std::uint64_t key_hash() const;
  std::span<const std::byte> bytes() const;  ///< the .idx file's content
  /// Compares the checksum of the whole index once more. Throws Error: corrupt.
  void verify() const;

 private:
  struct State;
  explicit Index(std::unique_ptr<State> state);
  std::shared_ptr<State> state_;  // not changed once it is made
};

/// Multiplier of key_hash() to the power of `samples`.
std::uint64_t key_hash_power(std::uint64_t samples);

/// Collects an index, sample by sample, in sample order.
class IndexBuilder {
 public:
  IndexBuilder();
  ~IndexBuilder();
  IndexBuilder(IndexBuilder&&) noexcept;
  IndexBuilder& operator=(IndexBuilder&&) noexcept;

  std::uint32_t add_file(IndexedFile file);
  void set_file_size(std::uint32_t file, std::uint64_t size);  ///< of one that has grown since it was added
  /// Number of the field of that name, added on first use; a later call with another codec leaves the first one's.
  std::uint32_t field(const FieldSchema& schema);
  std::uint32_t add_block(const Block& block);
  /// Begins a sample; the fields set next are its own. Setting a field again throws Error: corrupt with key and field.
  void add_sample(std::string_view key);
  void set(std::uint32_t field, const Extent& extent, std::optional<std::uint32_t> crc32c = std::nullopt);
  /// Inline bytes are copied. No pieces are a value of no bytes.
  void set(std::uint32_t field, std::span<const Piece> pieces, std::optional<std::uint32_t> crc32c = std::nullopt);
  void set_header(std::uint32_t field, std::span<const std::byte> header);
  /// As RangeSums has them, of a value longer than one range.
  void set_range_sums(std::uint32_t field, std::span<const std::uint32_t> sums);
  void set_attributes(std::string json);
  bool has(std::uint32_t field) const;  ///< the current sample has it already
  std::uint64_t size() const;
  std::string_view key(std::uint64_t sample) const;  ///< until the next sample is added

  /// Puts the samples in bytewise order of their keys and the fields in that of their names, after which nothing tells
  /// in which order they were added. Numbers of fields change; no sample may be added.
  void sort();

  Index finish() &&;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
