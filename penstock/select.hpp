// Selects samples by their content: filters, orders by a number, splits, blocks of tokens.
//
//   const auto dogs = penstock::filter(penstock::open("photos"), {.labels = {"dog"}, .has = {"jpg"}});
//   const auto parts = penstock::split(dogs, {{"train", 0.9}, {"val", 0.1}});
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/dataset.hpp>
#include <penstock/order.hpp>

namespace penstock {

class SampleList;  // formats/lists/sample_list.hpp

/// Of an image: neither side is shorter than `shortest`, nor longer than `longest`.
struct Sides {
  std::int64_t shortest = 0;
  std::int64_t longest = std::numeric_limits<std::int64_t>::max();
};

/// The samples that have the field, with an image of such sides (as it is stored, not turned upright). Reads the first
/// 64 KiB of each value on all cores, and the whole of those that these do not tell of. Throws Error: corrupt,
/// unsupported, naming the first sample by number whose value is no image that can be read; io; what `tick` throws.
SampleList with_sides(const Dataset& dataset, std::uint32_t field, const Sides& sides,
                      const std::function<void()>& tick = {});

/// Bytes of a value, both ends included.
struct LengthRange {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

/// What is given must all hold; a member left empty asks nothing.
struct FilterOptions {
  std::vector<std::string> patterns = {};  ///< keys that match one of them (key_pattern.hpp)
  std::vector<std::string> keys = {};      ///< these keys; each must be there
  std::filesystem::path key_file = {};     ///< the same, one a line
  std::vector<std::string> labels = {};    ///< names of classes, or texts of the values of `label_field`
  std::string label_field = "cls";         ///< "cls", "json:weather"; see Column
  std::vector<std::string> has = {};       ///< samples that have all of these fields
  std::vector<std::pair<std::string, LengthRange>> lengths = {};  ///< of values; a sample without the field is left out
  std::vector<std::pair<std::string, Sides>> sizes = {};          ///< of images, likewise
  /// Called once, in order, in the calling thread, for each sample that meets the other conditions.
  std::function<bool(const SampleValues&)> predicate = {};
  std::vector<std::string> predicate_fields = {};  ///< fields whose values it is given
  std::string predicate_about = "a function";      ///< what the view says of it
};

/// A view of the samples that meet every condition, in the dataset's order. It checks first what the index can answer,
/// and reads values of the remaining samples only. Throws Error: invalid_argument for a condition that no sample meets,
/// an unknown key, an unknown class, or an unknown field; it names them. Throws also what reading, `tick` and
/// `predicate` throw.
Dataset filter(const Dataset& dataset, const FilterOptions& options, const std::function<void()>& tick = {});

/// Sorts by a number in a field ("score", "json:score"; see Column), in rising order, or falling with `reverse`.
/// Samples with equal numbers keep their order. Throws Error: invalid_argument if the field or a sample's value is
/// missing; corrupt, with the sample's name, if a value is not a finite number. Throws also what reading and `tick`
/// throw.
Dataset sorted_by_column(const Dataset& dataset, std::string_view column, bool reverse = false,
                         const std::function<void()>& tick = {});

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

/// A view whose samples are blocks of `length` tokens of the dataset's documents, as docs/spec/tokens.md defines them.
///
/// The field keeps its name and stored dtype, and is of codec "tokens": without a chain it is delivered as int64. The
/// dataset's other fields are not the view's. Its keys are made from the dataset and the options, so that states are
/// bound to both. Lengths are read from the index; of .npy files the headers are read, once, on all cores. Takes 4 or 8
/// bytes of memory, or of temporary file, for each document (best_fit: 12 to 24), and 16 for each block.
///
/// Throws Error: invalid_argument, which names the dataset, the field and the document, in these cases: the field does
/// not exist, or does not hold integers; a document lacks it; there are no tokens; `length` is 0, or longer than all
/// tokens together; the dtype cannot hold `end` or `pad`; a document is longer than a block, with `whole`. Throws
/// shape, corrupt or unsupported if a document is not a list of integers. Throws also io, and what `tick` throws.
Dataset token_blocks(const Dataset& documents, std::uint64_t length, const TokenOptions& options = {},
                     const std::function<void()>& tick = {});

}  // namespace penstock
