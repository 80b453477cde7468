// Explains in error messages why a dataset does not have the requested field.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <penstock/dataset.hpp>

namespace penstock {

/// Returns why the dataset, or the samples of one shard, do not have this field although the files contain something
/// with that name. Example: "it was left out: virtual storage (in b.h5)". Empty if no reason is known.
std::string why_no_field(const Dataset& dataset, std::string_view field, std::optional<std::size_t> shard = {});

/// The same reason as the end of a message: "; " and the reason, or an empty string.
std::string and_why_no_field(const Dataset& dataset, std::string_view field, std::optional<std::size_t> shard = {});

}  // namespace penstock
