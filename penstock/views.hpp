// Makes a dataset from others without copying samples: parts, other orders, concatenations, joins.
//
//   const auto few = penstock::take(penstock::open("photos"), 100);
//   const auto sorted = penstock::sorted_by_length(few, "jpg");
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/dataset.hpp>

namespace penstock {

class SampleList;  // formats/lists/sample_list.hpp

/// The samples at these positions of the dataset, in the list's order. `about` describes the choice in words. Throws
/// Error: invalid_argument, naming `about`, if the list is empty.
Dataset choose(const Dataset& dataset, const SampleList& positions, const std::string& about);

/// The first `count` samples, or all if there are fewer. Throws Error: invalid_argument, if the result is empty.
Dataset take(const Dataset& dataset, std::uint64_t count);
/// All but the first `count` samples. Throws Error: invalid_argument, if the result is empty.
Dataset skip(const Dataset& dataset, std::uint64_t count);

/// The samples of all datasets, of any formats, one dataset after the other. Fields with the same name become one field
/// of one type (field_types.hpp). Datasets and keys may repeat. Throws Error: invalid_argument, for no dataset, and if
/// class names differ: all datasets that have class names must have the same in the same order.
Dataset concatenated(std::span<const Dataset> datasets);

/// The samples in bytewise order of their keys, or in falling order with `reverse`. Samples with equal keys keep their
/// order.
Dataset sorted_by_key(const Dataset& dataset, bool reverse = false);
/// Sorts by the length in bytes of a field's values; samples that lack the field count as 0. Throws Error:
/// invalid_argument, if there is no such field.
Dataset sorted_by_length(const Dataset& dataset, std::string_view field, bool reverse = false);
/// Sorts by a number of each sample; all must be finite. `about`: "sort by score".
Dataset sorted_by_numbers(const Dataset& dataset, const std::function<double(std::uint64_t sample)>& number,
                          const std::string& about, bool reverse = false);

/// The options of joined().
struct JoinOptions {
  /// Fields of the other dataset, with their new names. Empty: all fields that this dataset lacks, with their own
  /// names.
  std::vector<std::pair<std::string, std::string>> fields = {};
  bool leave_out = false;  ///< leave out samples whose key the other dataset lacks; otherwise the first one is an error
};

/// The samples of a dataset, with additional fields from another dataset's samples with the same key (the first such
/// sample). Throws Error: invalid_argument, for a field that the other dataset lacks or that both have, for a sample
/// without a partner, and if no sample has a partner.
Dataset joined(const Dataset& dataset, const Dataset& other, const JoinOptions& options = {});

}  // namespace penstock
