// Says why a field that was asked for is not there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <penstock/dataset.hpp>

namespace penstock {

/// Why the dataset, or the samples of one shard, do not have this field although their files have something of that
/// name: "it was left out: virtual storage (in b.h5)". Empty if nothing is known of it.
std::string why_no_field(const Dataset& dataset, std::string_view field, std::optional<std::size_t> shard = {});

/// The same for the end of a message: "; " and the reason, or nothing.
std::string and_why_no_field(const Dataset& dataset, std::string_view field, std::optional<std::size_t> shard = {});

}  // namespace penstock
