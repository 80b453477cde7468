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

/// The samples at those positions of the dataset, in the list's order; `about` says in words how they were chosen.
/// Throws Error: invalid_argument, naming `about`, where the list is empty.
Dataset choose(const Dataset& dataset, const SampleList& positions, const std::string& about);

/// The first `count` samples; all, where there are fewer. Throws Error: invalid_argument, where that is none.
Dataset take(const Dataset& dataset, std::uint64_t count);
/// All but the first `count` samples. Throws Error: invalid_argument, where that is none.
Dataset skip(const Dataset& dataset, std::uint64_t count);

/// The samples of all datasets, of any packings, one behind the other. Fields of one name become one field,
/// of one type (field_types.hpp). A dataset may come twice, and so may keys. Throws Error: invalid_argument, for no
/// dataset, and where class names differ: of those that have any, all must have the same in the same order.
Dataset concatenated(std::span<const Dataset> datasets);

/// The samples in bytewise order of their keys; those of one key stay in theirs. `reverse`: in falling order, likewise.
Dataset sorted_by_key(const Dataset& dataset, bool reverse = false);
/// By the bytes of a field's values; of samples that lack it, 0. Throws Error: invalid_argument, where there is none.
Dataset sorted_by_length(const Dataset& dataset, std::string_view field, bool reverse = false);
/// By a number of each sample, as many as there are samples and all finite. `about`: "sort by score".
Dataset sorted_by_numbers(const Dataset& dataset, const std::function<double(std::uint64_t sample)>& number,
                          const std::string& about, bool reverse = false);

struct JoinOptions {
  /// Fields of the other dataset, and what they are called here. Empty: all that the dataset has not, by their names.
  std::vector<std::pair<std::string, std::string>> fields = {};
  bool leave_out = false;  ///< samples whose key the other dataset has not; else the first one is an error
};

/// The samples of a dataset, with fields of those of another that have the same key (the first one of that key there).
/// Throws Error: invalid_argument, for a field that the other has not, or that both have; for a sample without partner;
/// where none has one.
Dataset joined(const Dataset& dataset, const Dataset& other, const JoinOptions& options = {});

}  // namespace penstock
