// Describes what a chain did to one sample, in words and numbers, for people who look behind a batch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <penstock/codec.hpp>
#include <penstock/geometry.hpp>

namespace penstock {

/// A step that decided something for the sample, and what: {"image.random_horizontal_flip(0.5)", "flipped: drew 0.31"}.
struct StepOutcome {
  std::string step, outcome;
  friend bool operator==(const StepOutcome&, const StepOutcome&) = default;
};

/// What the steps of one output decided.
struct Outcomes {
  std::vector<StepOutcome> steps;
  std::optional<Geometry> geometry;  ///< of images: the crops, resizes and flips up to a step of another kind, composed
  bool flipped = false, flipped_vertically = false;  ///< in the end
};

/// Where one row of an output came from.
struct OutputAccount {
  std::string output, chain;  ///< as to_string() writes chains; empty: decoded by its codec
  std::string field, codec;
  std::optional<Layout> stored;  ///< unknown for bytes that are delivered undecoded
  Outcomes outcomes;
};

}  // namespace penstock
