// Orders the samples of a dataset by a number in each.
#pragma once

#include <functional>
#include <string_view>

#include <penstock/formats/dataset.hpp>

namespace penstock {

/// By the number that a field says ("score", "json:score"; see Column), rising or, `reverse`, falling; equal ones stay
/// in their order. Throws Error: invalid_argument, where the field or a sample's value is not there; corrupt, naming
/// the sample, for what is no finite number; what reading and `tick` throw.
Dataset sorted_by_column(const Dataset& dataset, std::string_view column, bool reverse = false,
                         const std::function<void()>& tick = {});

}  // namespace penstock
