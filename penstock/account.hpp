// Describes the decisions of a chain for one sample, in words and numbers, for people who inspect a batch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <penstock/codec.hpp>
#include <penstock/geometry.hpp>

namespace penstock {

/// A step and its decision for the sample: {"image.random_horizontal_flip(0.5)", "flipped: drew 0.31"}.
struct StepOutcome {
  std::string step, outcome;
  friend bool operator==(const StepOutcome&, const StepOutcome&) = default;
};

/// The decisions of all steps of one output.
struct Outcomes {
  std::vector<StepOutcome> steps;
  /// for images: the composed crops, resizes and flips up to the first step of another kind
  std::optional<Geometry> geometry;
  bool flipped = false, flipped_vertically = false;  ///< after all steps
};

/// The origin of one row of an output.
struct OutputAccount {
  std::string output, chain;  ///< as to_string() writes chains; empty: decoded by its codec
  std::string field, codec;
  std::optional<Layout> stored;  ///< unset for bytes that are delivered undecoded
  Outcomes outcomes;
};

}  // namespace penstock
