// Tries in memory the formats that `penstock pack` could give a dataset's JPEG files, on some of its samples.
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
  std::string options;  ///< options of `penstock pack`: "--jpeg recode", "--max-side 448"
  Recoding recoding = {};
  Keeping keeping = {};     ///< for the samples in this format, beside the current one
  std::size_t samples = 0;  ///< number of samples tried
};

/// Returns the longest side to which the images may be shrunk, so that nine of ten keep the pixels that the chain's
/// first crop or resize needs. A resize() needs its size. A random_resized_crop() needs one and a half times its size,
/// because it takes a part of the image. The result is a multiple of 32. Nothing if the images are hardly larger, and
/// for chains that begin with another step, because their rows would change.
std::optional<std::int64_t> smallest_side(const Chain& chain, std::span<const Size> images);

/// Tries --jpeg recode, --max-side with the smallest side, and both, on each output's JPEG files. They are encoded by
/// the code of `penstock pack`, and processed by the output's chain. Returns nothing if there are no JPEG files.
/// --max-side is skipped if an output follows another one, because its boxes or masks refer to pixels of the original
/// image. `outputs`: as a loader recorded them. `limits.seconds` applies separately to reading, encoding and
/// processing. Throws errors of chains; Error: resource, "interrupted".
std::vector<PackingTryout> tried_packings(const Dataset& dataset, const Task& task,
                                          std::span<const OutputStats> outputs, std::uint64_t seed,
                                          const HeldLimits& limits);

}  // namespace penstock
