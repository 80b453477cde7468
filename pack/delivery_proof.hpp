// Proves that a loader delivers a packed value as it delivers the source's, as far as packing promises that.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <penstock/pack.hpp>
#include <penstock/schema.hpp>

namespace penstock {

/// A value of a packed dataset, and the one of its source.
struct Compared {
  std::string_view key;
  const FieldSchema &our_schema, &their_schema;
  std::span<const std::byte> ours, theirs;
};

/// Each says what is wrong, or nothing. What a loader cannot read of the source need not be readable of the copy.

/// Of equal bytes: they must be read by the same codec with the same dtype and shape, or at least be readable where the
/// source's are, as values of the same dtype and shape.
std::string fault_of_copy(const Compared& pair);
/// Of a photograph in another code: its pixels, upright, must be those of the source's file.
std::string fault_of_file(const Compared& pair);
/// Of a value that was made over:
///
/// | made by | must be |
/// | --- | --- |
/// | baseline, recode, original | the same pixels, upright |
/// | quality, max_side | an image with the source's number of channels, of the size that was asked for |
/// | decode | pixels of the size that was asked for |
/// | order | the source's points, each once, with their attributes and origin |
/// | presample | points of the source, none twice, with their attributes and origin; of voxel: at most as many points |
///
/// Attributes have the source's names and dtypes, and none is missing that the recoding keeps.
std::string fault_of_recoding(const Recoding& recoding, const Compared& pair);

}  // namespace penstock
