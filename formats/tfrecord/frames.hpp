// The records of a TFRecord file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include <formats/places/header_window.hpp>

namespace penstock {

/// Returns the checksum as TFRecord stores it: CRC32C, rotated right by 15 bits, plus 0xA282EAD8.
std::uint32_t masked_crc32c(std::uint32_t crc);

inline constexpr std::uint64_t kTfrecordHeader = 8 + 4, kTfrecordTrailer = 4;

struct TfrecordFrame {
  std::uint64_t header = 0;          ///< offset of the record
  std::uint64_t data = 0;            ///< offset of its bytes
  std::span<const std::byte> bytes;  ///< valid until the next call
};

/// Walks a file's records, reads each completely, and compares both checksums:
///
///   | length u64 | masked crc of the length u32 | bytes | masked crc of the bytes u32 | next record ...
///
/// Source: tensorflow/core/lib/io/record_writer.h.
class TfrecordFrames {
 public:
  explicit TfrecordFrames(HeaderWindow& file) : file_(file) {}

  /// Returns false at the end of the file. Throws Error: io; corrupt, with shard and offset (a checksum differs, the
  /// file ends inside a record); unsupported, if the file is compressed as a whole.
  bool next(TfrecordFrame& frame);
  /// Skips the next record. Reads only its length and checksum, and does not compare the checksum. Returns and throws
  /// like next().
  bool skip();
  /// Hash of the lengths and checksums of all records so far, which depends on their content.
  std::uint64_t stamp() const { return stamp_; }

 private:
  void refuse_compressed();
  /// Returns the bytes of the next record. Returns nothing at the end of the file.
  std::optional<std::uint64_t> next_length(std::uint64_t ahead);
  void take(std::uint64_t length, std::uint32_t checksum);

  HeaderWindow& file_;
  std::uint64_t next_ = 0;
  std::uint64_t stamp_ = 0;
};

/// Returns true if the file begins with a complete record header with a correct checksum.
bool begins_as_tfrecord(const std::filesystem::path& path);

}  // namespace penstock
