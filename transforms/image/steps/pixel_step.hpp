// What a step does that moves or changes the pixels of an image, and its table.
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

/// What a step adds to a sample's placement, from draws of its own, and says of it in `told` where that is given.
struct StepDraw {
  Placement& placement;
  Random random;
  std::string* told;  ///< null: not asked for

  /// Draws whether something of that probability happens, and tells: "flipped: drew 0.25".
  bool happens(double probability, const char* what);
  /// Sets `told` to what `text` returns; it is not called where that is not asked for.
  template <typename Text>
  void tell(Text text) {
    if (told != nullptr) *told = text();
  }
};

class PixelStep {
 public:
  virtual ~PixelStep() = default;
  /// Throws Error: shape, where the image is too small.
  virtual void draw(const Step& step, StepDraw& draw) const = 0;
  /// The output's size where it does not depend on the sample; `before` likewise.
  virtual std::optional<Size> size_after(const Step& step, std::optional<Size> before) const = 0;
  /// The channels that are left of so many.
  virtual std::int64_t channels_after(const Step& step, std::int64_t before) const = 0;
  /// That every pixel's number stays as it is.
  virtual bool moves_only(const Step& step) const = 0;
  /// Colors that it is given; null where it takes none.
  virtual const Fill* fill(const Step& step) const = 0;
};

/// Of a struct with `void draw(StepDraw& draw) const`. It may have size_after(), channels_after() and moves_only() with
/// the meaning of PixelStep's, and a member `fill`.
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

/// To the nearest whole number, halves to the even one, as Python's round().
std::int64_t whole_number_near(double value);
/// The fill of each of up to four channels.
std::array<std::uint8_t, 4> fill_of(const Fill& fill);

/// For people: a number in six digits at most, "640 x 480", "10 x 20 at x 1, y 2".
std::string short_text(double value);
std::string short_text(Size size);
std::string short_text(const Region& region);

}  // namespace penstock
