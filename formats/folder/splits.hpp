// Recognises folders that are named like the splits of a dataset.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// train, training; val, valid, validation, dev; test, testing, eval; in any case.
bool is_split_name(std::string_view name);

/// Whether there are names, and all of them are those of splits.
bool are_split_names(const std::vector<std::string>& names);

/// The one of `names` that `split` means: that name, else the only one of the same kind ("validation" for "val").
/// Throws Error: invalid_argument, listing `names`, where there is none, or more than one.
std::string split_among(const std::vector<std::string>& names, std::string_view split);

/// The error of opening `place` with several splits, or one, in it: says how each is opened.
std::string splits_refusal(const std::string& place, std::vector<std::string> names);

}  // namespace penstock
