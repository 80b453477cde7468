// Verifies that a loader delivers a packed value like the source's value, as far as packing promises that.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <penstock/pack.hpp>
#include <penstock/schema.hpp>

namespace penstock {

/// A value of a packed dataset (`ours`) and its counterpart in the source (`theirs`).
struct Compared {
  std::string_view key;
  const FieldSchema &our_schema, &their_schema;
  std::span<const std::byte> ours, theirs;
};

/// Each function returns a description of the fault, or an empty string. If a loader cannot read the source's value,
/// the copy need not be readable either.

/// Compares equal bytes. Both must be read by the same codec with the same dtype and shape. If the codecs or schemas
/// differ, a value that is readable in the source must give the same dtype and shape in the copy.
std::string fault_of_copy(const Compared& pair);
/// Compares an image that was re-encoded without loss. Its upright pixels must equal those of the source's file.
std::string fault_of_file(const Compared& pair);
/// Compares an array that became a row, or a row that became a `.npy` value. Dtype, shape and elements must be equal.
std::string fault_of_array(const Compared& pair);
/// Compares a value that was re-encoded.
///
/// | recoding | requirement |
/// | --- | --- |
/// | baseline, recode, original | the same pixels, upright |
/// | quality, max_side | an image of the requested size with the source's number of channels |
/// | decode | pixels of the requested size |
/// | order | the source's points, each once, with their attributes and origin |
/// | presample | points of the source, none twice, with their attributes and origin; voxel: at most as many points |
///
/// Attributes have the source's names and dtypes, and all attributes that the recoding keeps are present.
std::string fault_of_recoding(const Recoding& recoding, const Compared& pair);

}  // namespace penstock
