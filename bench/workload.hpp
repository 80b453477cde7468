// Generators of realistic file-per-sample data for demos and benchmarks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

namespace penstock {

struct SynthOptions {
  std::uint64_t count = 2000;
  std::uint64_t seed = 0;
  unsigned workers = 0;  ///< threads; 0: usable cores
  std::uint32_t classes = 10;
};

/// Called with (files written, files in all) from the calling thread; false stops with Error: resource, "interrupted".
using SynthProgress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

/// DST/<class>/<number>.jpg: photograph-like JPEGs (1/f spectrum, edges, texture), sizes spread like ImageNet's around
/// 500 x 375, 4:2:0, quality 75 to 95, about 110 KB on average; some grayscale and progressive. The same seed gives the
/// same bytes.
void synth_images(const std::filesystem::path& destination, const SynthOptions& options,
                  const SynthProgress& progress = {});
/// DST/<class>/<number>.png: 32 x 32 RGB icons.
void synth_icons(const std::filesystem::path& destination, const SynthOptions& options,
                 const SynthProgress& progress = {});

}  // namespace penstock
