// Decides which outputs' JPEGs a device helps to decode, and says why no others: LoaderOptions::gpu_jpeg.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <penstock/loader/device/device_jpegs.hpp>
#include <penstock/loader/options.hpp>
#include <penstock/transforms/program/program.hpp>

namespace penstock {

struct GpuJpeg {
  std::shared_ptr<DeviceJpegs> jpegs = {};  ///< null: all images are decoded on the host
  std::vector<std::uint8_t> outputs = {};   ///< 1 for those that the device shares in; empty: none
  std::string said = {};                    ///< for the stats; empty: nobody asked for it
};

/// Of `outputs`, those of the workers' program, the images that cross as pixels and to which chains do no more than the
/// device can. None, and a reason, where there are no such outputs, or the device has no decoder.
GpuJpeg gpu_jpeg_of(const LoaderOptions& options, std::span<const Output> outputs);

}  // namespace penstock
