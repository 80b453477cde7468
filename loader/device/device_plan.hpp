// Decides which last steps of chains a device does: images then cross as uint8, and become numbers in their layout
// there; points cross before they are centered, turned and so on.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <loader/device/device_slab.hpp>
#include <penstock/options.hpp>
#include <transforms/output.hpp>

namespace penstock {

/// The chains as the host runs them: those whose last steps can be a pass of the device end in uint8 (H, W, C), or in
/// float32 points, in their place. Nothing where none can, or `where` forbids it.
///
/// Automatic leaves alone what would show: batch_transform sees the batch before the copy, and marked rows are zeroed
/// on the host.
std::optional<std::vector<FieldChain>> chains_before_device(const LoaderOptions& options);

/// What the reader gets of `host` outputs, which those of `whole` are to be made of. An output whose shapes do not fit
/// each other (gray images that normalize() makes colour) cannot be made: then nothing.
std::optional<std::vector<DeviceOutput>> device_outputs(const LoaderOptions& options, std::span<const Output> host,
                                                        std::span<const Output> whole);

}  // namespace penstock
