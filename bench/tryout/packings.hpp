// Tries in memory what `penstock pack` could make of a dataset's JPEG files, on some of its samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <bench/measure/task.hpp>
#include <loader/model/demands.hpp>
#include <loader/model/tryout.hpp>
#include <penstock/dataset.hpp>
#include <penstock/geometry.hpp>
#include <penstock/pack.hpp>

namespace penstock {

struct PackingTryout {
  std::string options;  ///< as `penstock pack` takes them: "--jpeg recode", "--max-side 448"
  Recoding recoding = {};
  Keeping keeping = {};     ///< of the samples so, beside them as they are
  std::size_t samples = 0;  ///< that were tried
};

/// The longest side that the images may be shrunk to, so that nine of ten keep as many pixels as the chain's first crop
/// or resize leaves: a resize() its size, a random_resized_crop() one and a half times its size, because it looks at a
/// part of the image. A multiple of 32. Nothing where the images have hardly more, and for chains that begin otherwise:
/// their rows would not be the same.
std::optional<std::int64_t> smallest_side(const Chain& chain, std::span<const Size> images);

/// --jpeg recode, --max-side with the smallest side, and both, of each output's JPEG files: made by what `penstock
/// pack` makes them with, and run by the output's chain. Of no JPEG files, none; --max-side is left out where an output
/// follows another one, whose boxes or masks count the pixels of the image as it was. `outputs`: as a loader recorded
/// them. `limits.seconds` are for each of reading, making and running. Throws what chains throw; Error: resource,
/// "interrupted".
std::vector<PackingTryout> tried_packings(const Dataset& dataset, const Task& task,
                                          std::span<const OutputStats> outputs, std::uint64_t seed,
                                          const HeldLimits& limits);

}  // namespace penstock
