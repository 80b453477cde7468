// Reads the headers of a field's values in all samples, on all cores.
#pragma once

#include <cstdint>
#include <functional>

#include <penstock/codec.hpp>
#include <penstock/dataset.hpp>

namespace penstock {

/// Calls `take` for each sample that has the field, from several threads, in any order. Reads the first 64 KiB of
/// each value, or all of it if that does not contain the header. Calls `tick` regularly; an exception from it ends
/// the pass.
///
/// Throws Error: corrupt, unsupported, for the first sample by number whose value is invalid or whose layout `take`
/// rejects; io; what `tick` throws.
void for_each_layout(const Dataset& dataset, std::uint32_t field,
                     const std::function<void(std::uint64_t sample, const Layout& layout)>& take,
                     const std::function<void()>& tick = {});

}  // namespace penstock
