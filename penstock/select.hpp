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

/// Limits for the sides of an image: neither side is shorter than `shortest` or longer than `longest`.
struct Sides {
  std::int64_t shortest = 0;
  std::int64_t longest = std::numeric_limits<std::int64_t>::max();
};

/// The samples that have the field, with an image within these limits (as stored, without EXIF rotation). Reads the
/// first 64 KiB of each value on all cores, and the whole value if these do not contain the size. Throws Error:
/// corrupt, unsupported, for the first sample by number whose value is not a readable image; io; also the errors of
/// `tick`.
SampleList with_sides(const Dataset& dataset, std::uint32_t field, const Sides& sides,
                      const std::function<void()>& tick = {});

/// Length of a value in bytes, both limits included.
struct LengthRange {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

/// The conditions of filter(). A sample must meet all of them. Empty members are ignored.
struct FilterOptions {
  std::vector<std::string> patterns = {};  ///< keys that match one of them: "cat/*" (docs/guides/views.md)
  std::vector<std::string> keys = {};      ///< these keys; each must exist
  std::filesystem::path key_file = {};     ///< a file with one such key per line
  std::vector<std::string> labels = {};    ///< names of classes, or the text of values of `label_field`
  std::string label_field = "cls";         ///< a field, "cls", or a JSON member, "json:weather"
  std::vector<std::string> has = {};       ///< samples that have all of these fields
  /// by length of the value; a sample without the field is left out
  std::vector<std::pair<std::string, LengthRange>> lengths = {};
  /// by size of the image; a sample without the field is left out
  std::vector<std::pair<std::string, Sides>> sizes = {};
  /// Called once, in order, in the calling thread, for each sample that meets the other conditions.
  std::function<bool(const SampleValues&)> predicate = {};
  std::vector<std::string> predicate_fields = {};  ///< fields whose values `predicate` gets
  std::string predicate_about = "a function";      ///< description of the predicate in Dataset::about()
};

/// A view of the samples that meet every condition, in the dataset's order. The index is checked first; values are read
/// only for the remaining samples. Throws Error: invalid_argument, naming the culprit, for a condition that no sample
/// meets, and for an unknown key, class or field; also the errors of reading, `tick` and `predicate`.
Dataset filter(const Dataset& dataset, const FilterOptions& options, const std::function<void()>& tick = {});

/// Sorts by a number in a field, "score", or in a member of a JSON field, "json:score". The order is rising, or falling
/// with `reverse`. Samples with equal numbers keep their order. Throws Error: invalid_argument if the field or a
/// sample's value is missing; corrupt, with the sample's name, if a value is not a finite number; also the errors of
/// reading and of `tick`.
Dataset sorted_by_column(const Dataset& dataset, std::string_view column, bool reverse = false,
                         const std::function<void()>& tick = {});

/// A part and its share. Shares add up to 1, or are whole numbers that give proportions.
struct SplitPart {
  std::string name;
  double share;
};

/// The options of split().
struct SplitOptions {
  /// The grouping. "key" splits samples one by one. With a field, "patient", or a JSON member, "json:patient", samples
  /// with the same text stay together.
  std::string by = "key";
  /// Replaces `by`: returns the group of a sample, from its number and key. Called in order in the calling thread.
  std::function<std::string(std::uint64_t sample, std::string_view key)> group = {};
  std::string stratify = {};  ///< field each of whose values is split by the same shares; empty: none
  std::uint64_t seed = 0;
};

/// The number that decides the part of a group: mix64(mix64(x) + seed * 0x9E3779B97F4A7C15), modulo 2^64, where x is
/// the 64-bit FNV-1a hash of the group's bytes.
std::uint64_t split_hash(std::string_view group, std::uint64_t seed);

/// Views of the dataset by part, in the order of `parts`, each in the dataset's order.
///
/// Let c(i) be the sum of the first i + 1 shares and C the sum of all. A group with hash h is in the first part for
/// which (h >> 11) / 2^53 < c(i) / C, in double precision. The part depends only on the group, so adding or removing
/// samples does not move other samples.
///
/// With `stratify`, a group belongs to one value: its most frequent one, or the smallest by bytes among equally
/// frequent ones. The groups of each value are sorted by hash. A group of n samples, with s samples before it out of t
/// samples of the value, is in the first part for which (2 s + n) / (2 t) < c(i) / C. Each part then has its share of
/// each value's samples, within the size of the value's largest group. Adding samples moves only groups of their
/// values, near the borders of the parts.
///
/// Throws Error: invalid_argument, for shares that are not positive or do not add up, for repeated names, and for a
/// part that gets no sample, naming it; also the errors of reading, `group` and `tick`.
std::vector<std::pair<std::string, Dataset>> split(const Dataset& dataset, const std::vector<SplitPart>& parts,
                                                   const SplitOptions& options = {},
                                                   const std::function<void()>& tick = {});

/// A view whose samples are blocks of `length` tokens of the dataset's documents, as docs/spec/tokens.md defines them.
///
/// The field keeps its name and stored dtype, and has codec "tokens": without a chain it is delivered as int64. The
/// view does not contain the dataset's other fields. Its keys are derived from the dataset and the options, so saved
/// states are tied to both. Lengths come from the index; the headers of .npy files are read once, on all cores. Uses 4
/// or 8 bytes of memory, or of a temporary file, for each document (best_fit: 12 to 24), and 16 bytes for each block.
///
/// Throws Error: invalid_argument, which names the dataset, the field and the document:
/// - if the field does not exist, holds other values than integers, or is missing in a document;
/// - if there are no tokens, or if `length` is 0 or longer than all tokens together;
/// - if the dtype cannot hold `end` or `pad`;
/// - if a document is longer than a block, with `whole`.
///
/// Throws shape, corrupt or unsupported if a document is not a list of integers; io; also the errors of `tick`.
Dataset token_blocks(const Dataset& documents, std::uint64_t length, const TokenOptions& options = {},
                     const std::function<void()>& tick = {});

}  // namespace penstock
