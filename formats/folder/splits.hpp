// Recognises folders that are named like the splits of a dataset.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// Returns true for train, training; val, valid, validation, dev; test, testing, eval; in any case, also with a year at
/// the end (train2017).
bool is_split_name(std::string_view name);

/// Returns the only word of a file name that is the name of a split, in lower case: "train" for
/// "train-00000-of-00004.tar" and "mnist_train.h5". "train" for the data_batch_N of CIFAR-10. Empty if the name has no
/// such word, or several.
std::string split_in_name(std::string_view name);

/// Returns whether `names` is not empty and all of them are names of splits.
bool are_split_names(const std::vector<std::string>& names);

/// Returns whether all are names of splits, of at least two kinds.
bool are_several_splits(const std::vector<std::string>& names);

/// Returns the entry of `names` that `split` means: that name, else the only one of the same kind ("validation" for
/// "val"). Throws Error: invalid_argument, with `names`, if there is none, or more than one.
std::string split_among(const std::vector<std::string>& names, std::string_view split);

/// Returns the error for opening `place` although it has splits in it. The message shows how to open each split.
std::string splits_refusal(const std::string& place, std::vector<std::string> names);

}  // namespace penstock
