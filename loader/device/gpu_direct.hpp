// Decides which outputs a device reads from files, and explains the others: LoaderOptions::device_options.gpu_direct.
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
  std::shared_ptr<DeviceReads> reads = {};  ///< null: all bytes pass through the host's memory
  std::vector<std::uint8_t> outputs = {};   ///< 1 for outputs that the device reads; empty: none
  std::string said = {};                    ///< for the stats; empty: the option is off
};

/// Selects outputs of the workers' program whose rows are stored in their final form, each in one piece of a page or
/// more. If there are none, or if the device cannot read files, returns none and the reason. Throws what the dataset
/// throws.
GpuDirect gpu_direct_of(const Dataset& dataset, const LoaderOptions& options, std::span<const Output> outputs);

/// Returns the names of the chosen outputs, for the stats.
std::string names_of(std::span<const Output> outputs, std::span<const std::uint8_t> chosen);

}  // namespace penstock
