// Decides which outputs a device reads itself, and says why it reads no others:
// LoaderOptions::device_options.gpu_direct.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <loader/device/device_reads.hpp>
#include <penstock/dataset.hpp>
#include <penstock/options.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

struct GpuDirect {
  std::shared_ptr<DeviceReads> reads = {};  ///< null: all bytes go through the host's memory
  std::vector<std::uint8_t> outputs = {};   ///< 1 for those that the device reads; empty: none
  std::string said = {};                    ///< for the stats; empty: nobody asked for it
};

/// Of `outputs`, those of the workers' program, the ones whose rows are stored as they are, each in one piece of a page
/// or more. None, and a reason, where there are no such outputs, or the device cannot read files. Throws what the
/// dataset throws.
GpuDirect gpu_direct_of(const Dataset& dataset, const LoaderOptions& options, std::span<const Output> outputs);

/// For the stats: the names of the chosen outputs.
std::string names_of(std::span<const Output> outputs, std::span<const std::uint8_t> chosen);

}  // namespace penstock
