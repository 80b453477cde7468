// A JPEG file without its entropy-coded data, which a `jpt` field keeps so that the file can be had back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::jpt {

/// The pieces between which the entropy-coded data of the scans stood: each but the last ends with the header of a
/// scan. The last one is the end of the file, with whatever follows the image there.
struct Skeleton {
  std::vector<std::byte> bytes;     ///< of all pieces
  std::vector<std::uint32_t> ends;  ///< of each piece in `bytes`; at least one

  std::size_t scans() const { return ends.size() - 1; }
  std::span<const std::byte> piece(std::size_t number) const;
  friend bool operator==(const Skeleton&, const Skeleton&) = default;
};

/// Takes a file apart. `scans` gets the entropy-coded data of each scan, restart markers included, as parts of `file`.
/// Any bytes can be taken apart, and pieces and scans in turn are always the file.
void take_apart(std::span<const std::byte> file, Skeleton& skeleton, std::vector<std::span<const std::byte>>& scans);

/// Headers of scans, as they stand behind their length: the payloads of the SOS segments, one for each scan.
std::vector<std::span<const std::byte>> scan_headers(const Skeleton& skeleton);

/// Stored as:
///    0  u8 1: the file comes back to the last byte; 0: a file of the same coefficients
///       u8 1: what follows is deflated (RFC 1951); 0: it stands as it is; u32 bytes of it when inflated
///       u16 pieces, for each u32 its bytes; the bytes of all pieces
void store_skeleton(const Skeleton& skeleton, bool exact, std::vector<std::byte>& out);
/// Returns whether the file comes back to the last byte. Throws Error: corrupt.
bool load_skeleton(std::span<const std::byte> bytes, Skeleton& skeleton);

}  // namespace penstock::jpt
