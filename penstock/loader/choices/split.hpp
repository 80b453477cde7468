// Divides a dataset into parts, as a function of each sample's key or of what a field says: no part depends on others.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/formats/dataset.hpp>

namespace penstock {

/// A part and its share: shares add up to 1, or are whole numbers that say proportions.
struct SplitPart {
  std::string name;
  double share;
};

struct SplitOptions {
  /// What samples go together by: "key", each by itself; or a field whose text is their group ("patient",
  /// "json:patient"; see Column).
  std::string by = "key";
  /// In place of `by`: the group of a sample, by its number and key; called in order in the calling thread.
  std::function<std::string(std::uint64_t sample, std::string_view key)> group = {};
  std::string stratify = {};  ///< a field: each of its values gets the shares in every part; empty: none
  std::uint64_t seed = 0;
};

/// The number that says where a group goes: mix64(mix64(x) + seed * 0x9E3779B97F4A7C15), modulo 2^64, of x, the FNV-1a
/// of 64 bits of the group's bytes.
std::uint64_t split_hash(std::string_view group, std::uint64_t seed);

/// Views of the dataset by part, in the order of `parts`, each in the dataset's order.
///
/// With c(i) the sum of the first i + 1 shares and C that of all: a group of hash h is in the first part with
/// (h >> 11) / 2^53 < c(i) / C, in double precision. That is a function of the group alone, so adding or removing
/// samples moves no other one.
///
/// With `stratify` the groups of each value (of a group with several values, its most frequent one; of equally frequent
/// ones the least by bytes) are laid in the order of their hashes, and one of n samples that has s samples in front of
/// it, of t of the value, is in the first part with (2 s + n) / (2 t) < c(i) / C. Each part then has its share of each
/// value's samples to within the largest group of that value; adding samples moves groups of their values alone, near
/// the borders of the parts.
///
/// Throws Error: invalid_argument, for shares that are not positive or do not add up, names that come twice, and naming
/// a part that gets no sample; what reading, `group` and `tick` throw.
std::vector<std::pair<std::string, Dataset>> split(const Dataset& dataset, const std::vector<SplitPart>& parts,
                                                   const SplitOptions& options = {},
                                                   const std::function<void()>& tick = {});

}  // namespace penstock
