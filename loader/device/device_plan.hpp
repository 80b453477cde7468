// Decides which last steps of chains a device runs. Images are then copied as uint8, and the device converts their
// numbers and layout. Points are copied before they are centered, rotated and so on.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <loader/device/device_slab.hpp>
#include <penstock/options.hpp>
#include <transforms/output.hpp>

namespace penstock {

/// Returns the chains that the host runs. If the device can run a chain's last steps in one pass, the chain ends
/// before them, in uint8 (H, W, C) or in float32 points. Returns nothing if there is no such chain or `where` forbids
/// it.
///
/// Automatic avoids visible changes: batch_transform sees the batch before the copy, and marked rows are zeroed on
/// the host. The host also fills the rows of samples without the field, so such outputs are copied as in `whole`, the
/// outputs of the complete chains.
std::optional<std::vector<FieldChain>> chains_before_device(const LoaderOptions& options,
                                                            std::span<const Output> whole);

/// Returns the reader's outputs, which the device makes of the `host` outputs so that they equal `whole`. Returns
/// nothing if the shapes of an output do not fit (normalize() turns gray images into color).
std::optional<std::vector<DeviceOutput>> device_outputs(const LoaderOptions& options, std::span<const Output> host,
                                                        std::span<const Output> whole);

}  // namespace penstock
