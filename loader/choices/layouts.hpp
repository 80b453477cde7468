// Reads the headers of all samples' values of a field, on all cores.
#pragma once

#include <cstdint>
#include <functional>

#include <penstock/codec.hpp>
#include <penstock/dataset.hpp>

namespace penstock {

/// Calls `take` for each sample that has the field, from several threads at once, in no order. Reads the first 64 KiB
/// of each value, and the whole of those that these do not tell of. `tick` is called now and then, and ends it by
/// throwing. Throws Error: corrupt, unsupported, naming the first sample by number whose value, or whose layout to
/// `take`, is none; io; what `tick` throws.
void for_each_layout(const Dataset& dataset, std::uint32_t field,
                     const std::function<void(std::uint64_t sample, const Layout& layout)>& take,
                     const std::function<void()>& tick = {});

}  // namespace penstock
