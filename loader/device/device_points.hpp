// Decides which last steps of a chain of points a device does.
#pragma once

#include <optional>

#include <penstock/device/passes.hpp>
#include <penstock/loader/options.hpp>
#include <penstock/transforms/program/program.hpp>

namespace penstock {

/// The chain as the host runs it: without its last steps that a pass can do, in float32 point by point. Nothing where
/// no step remains for a device, or, automatically, where the result is float16 or bfloat16: on the host, half of the
/// bytes cross.
std::optional<Chain> points_before_device(const Chain& chain, Where where);

/// The pass that makes `whole` of `host`, for a chain that points_before_device() cut; without pointers, sizes and key.
/// Nothing where their shapes do not fit each other.
std::optional<PointPass> point_pass(const FieldChain& output, const Output& host, const Output& whole);

}  // namespace penstock
