// Generators of realistic file-per-sample data for demos and benchmarks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include <bench/measure/units.hpp>

namespace penstock {

struct SynthOptions {
  std::uint64_t count = 2000;  ///< number of files
  std::uint64_t seed = 0;
  unsigned workers = 0;  ///< threads; 0: usable cores
  std::uint32_t classes = 10;
};

/// Called with (files written, files in all) from the calling thread. If it returns false, the call ends with Error:
/// resource, "interrupted".
using SynthProgress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

// All generators write DST/class_<c>/<number>.<extension>, number n in class n % classes. The bytes depend on seed,
// count and number of classes, but not on workers. The files are written to "DST.partial", which is renamed to DST once
// complete. Files left by an interrupted run are written again. Classes differ (images: in hue, shape and texture), so
// that a small network can distinguish them. Throws Error: invalid_argument, if DST exists and is not an empty folder,
// or if no files are requested; io (path, errno).

/// Photograph-like JPEGs: 1/f amplitude spectrum, occluding shapes, grain. Sizes spread like ImageNet's around 500 x
/// 375. The files are 4:2:0, of quality 75 to 95, and 100 to 120 KB on average. 2 in 100 are grayscale and 2 in 100
/// progressive.
void synth_images(const std::filesystem::path& destination, const SynthOptions& options,
                  const SynthProgress& progress = {});
/// 32 x 32 RGB PNGs of about 2.2 KB, like those of CIFAR-10.
void synth_icons(const std::filesystem::path& destination, const SynthOptions& options,
                 const SynthProgress& progress = {});

enum class CloudLayout : std::uint8_t {
  trees,  ///< one tree and the ground around it; the class is its species, visible in the shape of the crown
  plots,  ///< a stand of trees and shrubs, about 120 points per square metre; the class is its most frequent species
};

struct SynthCloudOptions {
  SynthOptions files{.count = 40};
  CountRange points{200000, 600000};  ///< per cloud; drawn uniformly
  CloudLayout layout = CloudLayout::trees;
  unsigned las_format = 6;  ///< point format: 0 to 3 (as LAS 1.2), 6 or 7 (as LAS 1.4)
};

/// Laser scans of forests in LAS files, scale 0.001, in UTM coordinates. They contain ground, vegetation and noise, and
/// several returns per pulse. Points are in the order of a flying scanner. Also throws Error: invalid_argument, for a
/// range of points that is empty or beyond 50 million, and for other point formats.
void synth_clouds(const std::filesystem::path& destination, const SynthCloudOptions& options,
                  const SynthProgress& progress = {});

}  // namespace penstock
