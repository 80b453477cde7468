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
#include <penstock/loader/choices/image_sizes.hpp>
#include <penstock/loader/choices/values.hpp>

namespace penstock {

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
