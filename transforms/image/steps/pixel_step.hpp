// The interface and the table of a step that moves or changes the pixels of an image.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <penstock/random.hpp>
#include <transforms/chain/parameter.hpp>
#include <transforms/image/passes/placement.hpp>

namespace penstock {

/// Arguments of PixelStep::draw(), which adds the step to a sample's placement. `random` belongs to this step. `told`
/// receives a description for people, unless null.
struct StepDraw {
  Placement& placement;
  Random random;
  std::string* told;  ///< null: not wanted

  /// Draws whether an event of that probability happens, and reports it: "flipped: drew 0.25".
  bool happens(double probability, const char* what);
  /// Sets `told` to the result of `text`. Does not call `text` if `told` is null.
  template <typename Text>
  void tell(Text text) {
    if (told != nullptr) *told = text();
  }
};

class PixelStep {
 public:
  virtual ~PixelStep() = default;
  /// Throws Error: shape, if the image is too small.
  virtual void draw(const Step& step, StepDraw& draw) const = 0;
  /// Returns the output's size, or nothing if it depends on the sample. `before` is the size before the step, in the
  /// same form.
  virtual std::optional<Size> size_after(const Step& step, std::optional<Size> before) const = 0;
  /// Returns the number of channels after the step, if there were `before`.
  virtual std::int64_t channels_after(const Step& step, std::int64_t before) const = 0;
  /// Returns whether the step moves pixels without changing their numbers.
  virtual bool moves_only(const Step& step) const = 0;
  /// Returns the fill colours given to the step, or null if the step has no fill.
  virtual const Fill* fill(const Step& step) const = 0;
};

/// The table of a step struct with `void draw(StepDraw& draw) const`. The struct may have size_after(),
/// channels_after() and moves_only() with the meaning of PixelStep's, and a member `fill`.
template <typename Kind>
class PixelTable final : public TableOf<Kind>, public PixelStep {
 public:
  template <typename... Values>
  PixelTable(std::string_view called, std::string_view means, Parameter<Kind, Values>... takes)
      : TableOf<Kind>(called, means, std::move(takes)...) {
    this->pixels_ = this;
    this->traits_.domain = Domain::image;
  }

  void draw(const Step& step, StepDraw& draw) const override { step.as<Kind>()->draw(draw); }

  std::optional<Size> size_after(const Step& step, std::optional<Size> before) const override {
    if constexpr (requires(Kind kind) { kind.size_after(before); }) return step.as<Kind>()->size_after(before);
    return before;
  }

  std::int64_t channels_after(const Step& step, std::int64_t before) const override {
    if constexpr (requires(Kind kind) { kind.channels_after(before); }) return step.as<Kind>()->channels_after(before);
    return before;
  }

  bool moves_only(const Step& step) const override {
    if constexpr (requires(Kind kind) { kind.moves_only(); }) return step.as<Kind>()->moves_only();
    return false;
  }

  const Fill* fill(const Step& step) const override {
    if constexpr (requires(Kind kind) { kind.fill; }) return &step.as<Kind>()->fill;
    return nullptr;
  }
};

/// Rounds to the nearest integer, halves to even, like Python's round().
std::int64_t whole_number_near(double value);
/// Returns the fill of each of up to four channels.
std::array<std::uint8_t, 4> fill_of(const Fill& fill);

/// Texts for people: a number with at most six digits, "640 x 480", "10 x 20 at x 1, y 2".
std::string short_text(double value);
std::string short_text(Size size);
std::string short_text(const Region& region);

}  // namespace penstock
