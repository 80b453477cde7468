// Steps for rows of different lengths: pad(), and valid_mask() and lengths() of what was padded.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <penstock/transforms/chain/step.hpp>

namespace penstock {

/// What becomes of rows that are longer than a fixed length.
enum class Longer : std::uint8_t { raise, truncate };
inline constexpr std::string_view kLonger[] = {"raise", "truncate"};
constexpr std::span<const std::string_view> choices(Longer) {
  return kLonger;
}

namespace step {
struct PadItems {
  std::int64_t length = 0;       ///< of every row; 0: of the batch's longest
  std::int64_t multiple_of = 1;  ///< the longest is rounded up to
  double value = 0;
  Longer longer = Longer::raise;
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
  void check() const;
};
struct ValidMask {
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
};
struct Lengths {
  static const StepTable& table();
  static constexpr Traits kTraits{.draws = false};
};
}  // namespace step

struct PadOptions {
  std::int64_t multiple_of = 1;  ///< without a length: the longest row's is rounded up to a multiple
  double value = 0;              ///< stands behind a row's items
  std::string longer = "raise";  ///< rows of more items than `length`: a data fault, or, "truncate", cut off
};

/// Behind what gives a ragged output: rows are filled up at their end, and the output is not ragged any more. With
/// `length` each row has so many items; with 0 as many as the longest row of its batch, so that batches differ.
/// Images have image::pad(), clouds points::pad().
Chain pad(std::int64_t length = 0, const PadOptions& options = {});
/// After follow("OUTPUT"), an output that pad() ends: bool, true for a row's items and false where pad() filled up.
Chain valid_mask();
/// After follow("OUTPUT"), one that is or was ragged: int64 scalar, the items of a row.
Chain lengths();

}  // namespace penstock
