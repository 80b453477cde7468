// One step of a chain, and chains of steps. What steps there are, chain.hpp lists.
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

/// What stands beyond the edges of an image. Source: torchvision.transforms.v2.Pad.
enum class PaddingMode : std::uint8_t {
  constant,   ///< the fill
  edge,       ///< the outermost pixel
  reflect,    ///< the image mirrored, without its outermost pixel again: 3 2 1 2 3 4 3 2
  symmetric,  ///< the image mirrored: 2 1 1 2 3 4 4 3
};

inline constexpr std::string_view kPaddingModes[] = {"constant", "edge", "reflect", "symmetric"};
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

/// 0 to 255: one number for all channels, or one for each.
using Fill = std::vector<std::int64_t>;

class StepTable;    // transforms/chain/step_table.hpp
class Random;       // penstock/random.hpp
class PointBuffer;  // transforms/clouds/steps/point_buffer.hpp: what steps on points change
class PointRunner;  // transforms/clouds/steps/point_step.hpp
struct StepDraw;    // transforms/image/steps/pixel_step.hpp: where steps on pixels say what they do
struct WindowSpec;  // penstock/steps.hpp

/// What a step is for. A chain has steps of one domain, and of `any`.
enum class Domain : std::uint8_t { any, image, array, points };

/// Padding at the end of rows of items.
struct ItemPadding {
  std::int64_t length = 0;       ///< of every row; 0: of the longest row of the batch
  std::int64_t multiple_of = 1;  ///< without a length, the longest is rounded up to a multiple
  double value = 0;              ///< of the items that are added
};

/// Properties of a step, which other code asks instead of the step's name. The struct of a step has them as a static
/// member kTraits, or as a function traits() if some depend on the parameters.
struct Traits {
  Domain domain = Domain::any;
  bool draws = true;           ///< something, so that rows may differ from epoch to epoch
  bool before_device = false;  ///< may stand before the steps that a device does
  bool converts = false;       ///< changes only the dtype
  // Of images.
  bool leaves_places = false;  ///< no pixel moves, so that followers have nothing to follow
  bool scales = false;         ///< divides uint8 pixels by 255
  bool channels_last = false;  ///< gives (H, W, C)
  // Of items.
  bool lists_items = false;   ///< decodes rows of items that have several numbers each
  bool drops_items = false;   ///< and its followers drop theirs
  bool counts_items = false;  ///< gives the number of items of the leader's rows
  bool marks_items = false;   ///< marks the items of the leader's rows, and not their padding
  std::optional<ItemPadding> padding = std::nullopt;
};

/// A value of one of the structs in namespace step. Everything that depends on which one it is stands in that struct's
/// own files, and is found by its table.
class Step {
 public:
  template <typename Kind>
  requires requires { Kind::table(); }
  Step(Kind kind) : table_(&Kind::table()), value_(std::move(kind)) {}  // NOLINT: every such struct is a step

  /// Null where it is another kind of step.
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

/// What happens to one output, from the stored field to the slot. A value; compiled once per loader.
struct Chain {
  std::vector<std::string> sources;     ///< field("jpg|png"): the first that a sample has; empty: the output's own name
  std::optional<std::string> followed;  ///< follow("jpg"): takes the geometry drawn for that output
  std::vector<Step> steps;
  std::string misuse;  ///< what composing it got wrong; Program throws it with the output's name
  std::shared_ptr<const WindowSpec> window = {};  ///< window(): a row is several samples; null: one
  friend Chain operator|(Chain left, const Chain& right);
};

/// As a user would write it, in one spelling whatever the language: "field(jpg|png) | image.resize(256)".
std::string to_string(const Chain& chain);
std::string to_string(const Step& step);

/// The fields that "jpg|png" names, for a function such as field(). Throws Error: invalid_argument, for an empty one.
std::vector<std::string> alternatives_in(const std::string& text, const std::string& function);

/// A chain of one step. Throws Error: invalid_argument, naming the step, for numbers that make no sense whatever it is
/// applied to.
Chain one_step(Step step);

}  // namespace penstock
