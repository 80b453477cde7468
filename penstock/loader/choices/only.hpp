// Chooses samples of a dataset: by keys, labels, fields, lengths, sizes of images, or by a function of small values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <penstock/formats/dataset.hpp>
#include <penstock/formats/lists/sample_list.hpp>
#include <penstock/loader/choices/values.hpp>

namespace penstock {

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
struct OnlyOptions {
  std::vector<std::string> patterns = {};  ///< keys that match one of them (key_pattern.hpp)
  std::vector<std::string> keys = {};      ///< these keys; each must be there
  std::filesystem::path key_file = {};     ///< the same, one a line
  std::vector<std::string> labels = {};    ///< names of classes, or texts of the values of `label_field`
  std::string label_field = "cls";         ///< "cls", "json:weather"; see Column
  std::vector<std::string> has = {};       ///< samples that have all of these fields
  std::vector<std::pair<std::string, LengthRange>> lengths = {};  ///< of values; a sample without the field is left out
  std::vector<std::pair<std::string, Sides>> sizes = {};          ///< of images, likewise
  /// Called once for each sample that is left by then, in order, in the calling thread; kept is what it chose.
  std::function<bool(const SampleValues&)> where = {};
  std::vector<std::string> where_fields = {};  ///< fields whose values it is given
  std::string where_about = "a function";      ///< what the view says of it
};

/// A view of those samples, in the dataset's order. What the index tells is asked first, so that values are read of
/// samples that are left. Throws Error: invalid_argument, naming what chose nothing, a key that is not there, a label
/// that is no class, or a field that there is not; what reading throws; what `tick` and `where` throw.
Dataset only(const Dataset& dataset, const OnlyOptions& options, const std::function<void()>& tick = {});

}  // namespace penstock
