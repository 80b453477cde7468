// Recognises folders that are named like the splits of a dataset.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// train, training; val, valid, validation, dev; test, testing, eval; in any case, also with a year behind (train2017).
bool is_split_name(std::string_view name);

/// The only word of the name of a file that is a split's name: "train" of "train-00000-of-00004.tar" and
/// "mnist_train.h5", in lower case. Empty for names with no such word, and with several.
std::string split_in_name(std::string_view name);

/// Whether there are names, and all of them are those of splits.
bool are_split_names(const std::vector<std::string>& names);

/// Whether all are names of splits, and of at least two kinds.
bool are_several_splits(const std::vector<std::string>& names);

/// The one of `names` that `split` means: that name, else the only one of the same kind ("validation" for "val").
/// Throws Error: invalid_argument, listing `names`, where there is none, or more than one.
std::string split_among(const std::vector<std::string>& names, std::string_view split);

/// The error of opening `place` with several splits, or one, in it: says how each is opened.
std::string splits_refusal(const std::string& place, std::vector<std::string> names);

}  // namespace penstock
