// Chains of steps. A step is a transform of a chain, such as image::resize(256). chain.hpp lists all steps.
#pragma once

#include <any>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock {

/// The pixels beyond the edges of an image. Source: torchvision.transforms.v2.Pad.
enum class PaddingMode : std::uint8_t {
  constant,   ///< the fill value
  edge,       ///< the outermost pixel
  reflect,    ///< the image mirrored, without repeating its outermost pixel: 3 2 1 2 3 4 3 2
  symmetric,  ///< the image mirrored: 2 1 1 2 3 4 4 3
};

inline constexpr std::string_view kPaddingModes[] = {"constant", "edge", "reflect", "symmetric"};
/// The names of the values, in their order.
constexpr std::span<const std::string_view> choices(PaddingMode) {
  return kPaddingModes;
}

/// Pixels added at each side.
struct Padding {
  std::int64_t left = 0, top = 0, right = 0, bottom = 0;
  static constexpr Padding all(std::int64_t pixels) { return {pixels, pixels, pixels, pixels}; }
  friend bool operator==(const Padding&, const Padding&) = default;
};

/// A uniform draw from [low, high).
struct Range {
  double low = 0, high = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

/// Values from 0 to 255: one for all channels, or one per channel.
using Fill = std::vector<std::int64_t>;

class StepTable;    // transforms/chain/step_table.hpp
class Random;       // penstock/random.hpp
class PointBuffer;  // transforms/clouds/steps/point_buffer.hpp: the points that steps change
class PointRunner;  // transforms/clouds/steps/point_step.hpp
struct StepDraw;    // transforms/image/steps/pixel_step.hpp: collects the decisions of steps on pixels
struct WindowSpec;  // penstock/steps.hpp

/// The kind of data that a step applies to. All steps of a chain have the same domain, or `any`.
enum class Domain : std::uint8_t { any, image, array, points };

/// Padding at the end of rows of items.
struct ItemPadding {
  std::int64_t length = 0;       ///< of every row; 0: that of the longest row of the batch
  std::int64_t multiple_of = 1;  ///< without a length, the longest is rounded up to a multiple of this
  double value = 0;              ///< of the added items
};

/// Properties of a step, so that other code need not test for particular steps. The struct of a step has them as a
/// static member kTraits, or as a function traits() if some depend on the parameters.
struct Traits {
  Domain domain = Domain::any;
  bool draws = true;           ///< makes random draws, so rows may differ from epoch to epoch
  bool before_device = false;  ///< may precede the steps that a device runs
  bool converts = false;       ///< changes only the dtype
  // For images.
  bool leaves_places = false;  ///< moves no pixel, so outputs that follow() have nothing to do
  bool scales = false;         ///< divides uint8 pixels by 255
  bool channels_last = false;  ///< produces (H, W, C)
  // For items.
  bool lists_items = false;   ///< decodes rows of items that consist of several numbers each
  bool drops_items = false;   ///< drops items, and outputs that follow() drop theirs
  bool counts_items = false;  ///< produces the number of items of the leader's rows
  bool marks_items = false;   ///< marks the items of the leader's rows, but not their padding
  std::optional<ItemPadding> padding = std::nullopt;
};

/// A step of a chain: holds one of the structs in namespace step. All code for a struct is in its own files, and its
/// table finds it.
class Step {
 public:
  template <typename Kind>
  requires requires { Kind::table(); }
  Step(Kind kind) : table_(&Kind::table()), value_(std::move(kind)) {}  // NOLINT: every such struct is a step

  /// Null if it is another kind of step.
  template <typename Kind>
  const Kind* as() const {
    return std::any_cast<Kind>(&value_);
  }
  template <typename Kind>
  bool is() const {
    return as<Kind>() != nullptr;
  }
  const StepTable& table() const { return *table_; }
  Traits traits() const;

 private:
  const StepTable* table_;
  std::any value_;
};

/// The path of one output from the stored field to the batch. The operator | joins two chains: image::resize(256) |
/// image::center_crop(224). Copies are independent. A loader compiles its chains when it is made.
struct Chain {
  /// field("jpg|png"): the first that a sample has; empty: the field with the output's name
  std::vector<std::string> sources;
  std::optional<std::string> followed;  ///< follow("jpg"): uses the geometry drawn for that output
  std::vector<Step> steps;
  std::string misuse;  ///< error of a wrong composition; Loader's constructor throws it with the output's name
  std::shared_ptr<const WindowSpec> window = {};  ///< window(): a row consists of several samples; null: of one
  friend Chain operator|(Chain left, const Chain& right);
};

/// Writes a chain as a user would, in one spelling for all languages: "field(jpg|png) | image.resize(256)".
std::string to_string(const Chain& chain);
std::string to_string(const Step& step);

/// The fields that "jpg|png" lists, as an argument of `function`, such as field(). Throws Error: invalid_argument, for
/// an empty one.
std::vector<std::string> alternatives_in(const std::string& text, const std::string& function);

/// A chain of one step. Throws Error: invalid_argument, naming the step, for parameters that are invalid for every
/// input.
Chain one_step(Step step);

}  // namespace penstock
