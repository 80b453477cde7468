// Reads the orientation that a camera recorded in an image file.
#pragma once

#include <cstddef>
#include <span>

namespace penstock {

// These functions return 1 to 8, numbered as in EXIF, or 1 (as stored) if the file has no valid orientation.
// Source: CIPA DC-008 (Exif 2.32), 4.6.4 and 4.7.2; TIFF 6.0, section 2.

unsigned exif_orientation(std::span<const std::byte> jpeg_file);
/// Reads the chunk eXIf. Source: Portable Network Graphics (third edition), 11.3.4.5.
unsigned png_orientation(std::span<const std::byte> png_file);
/// Reads the chunk EXIF. Source: RFC 9649, 2.7.1.5.
unsigned webp_orientation(std::span<const std::byte> webp_file);

}  // namespace penstock
