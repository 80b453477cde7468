// A JPEG file without its entropy-coded data. A `jpt` field contains it to restore the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::jpt {

/// The pieces of a file between the entropy-coded data of its scans. Each piece except the last ends with the header of
/// a scan. The last one is the end of the file, including any bytes after the image.
struct Skeleton {
  std::vector<std::byte> bytes;     ///< all pieces
  std::vector<std::uint32_t> ends;  ///< end of each piece in `bytes`; at least one

  std::size_t scans() const { return ends.size() - 1; }
  std::span<const std::byte> piece(std::size_t number) const;
  friend bool operator==(const Skeleton&, const Skeleton&) = default;
};

/// Splits a file. `scans` gets the entropy-coded data of each scan, including restart markers, as views of `file`. Any
/// bytes can be split. Pieces and scans, alternating, always concatenate to the file.
void take_apart(std::span<const std::byte> file, Skeleton& skeleton, std::vector<std::span<const std::byte>>& scans);

/// Returns the payloads of the SOS segments without their length, one for each scan.
std::vector<std::span<const std::byte>> scan_headers(const Skeleton& skeleton);

/// Stored as:
///    0  u8 1: the file is restored to the last byte; 0: a file with the same coefficients is
///       u8 1: the rest is deflated (RFC 1951); 0: the rest is stored plainly; u32 its inflated length
///       u16 number of pieces, u32 length of each; the bytes of all pieces
void store_skeleton(const Skeleton& skeleton, bool exact, std::vector<std::byte>& out);
/// Returns whether the file is restored to the last byte. Throws Error: corrupt.
bool load_skeleton(std::span<const std::byte> bytes, Skeleton& skeleton);

}  // namespace penstock::jpt
