// The tables of steps whose parameters are numbers: what their text, its parser, the checks of their numbers, their
// Python functions and their entries in docs/transforms.md are made from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include <penstock/transforms/chain/chain.hpp>

namespace penstock {

/// One parameter of a step, in the order in which a user gives them.
template <typename Kind, typename Value>
struct Parameter {
  std::string_view name;
  Value Kind::*member;
  std::optional<Value> usual;  ///< nothing: it must be given
  Value least, most;           ///< both may be given
  std::string_view unit;       ///< empty: a number without one
  std::string_view meaning;
};
template <typename Kind>
using Real = Parameter<Kind, double>;
template <typename Kind>
using Whole = Parameter<Kind, std::int64_t>;

inline constexpr double kLeastReal = std::numeric_limits<double>::lowest();
inline constexpr double kMostReal = std::numeric_limits<double>::max();
inline constexpr double kEndless = std::numeric_limits<double>::infinity();
inline constexpr std::int64_t kMostWhole = std::numeric_limits<std::int64_t>::max();

/// The table of one kind of step: kName ("points.jitter"), kMeaning, and kParameters, a tuple of Parameter.
template <typename Kind>
struct StepTable;

template <typename Kind>
concept HasTable = requires {
  StepTable<Kind>::kName;
};

/// Calls `visit` with each parameter of the table, in order.
template <HasTable Kind, typename Visit>
constexpr void for_each_parameter(Visit&& visit) {
  std::apply([&](const auto&... parameter) { (visit(parameter), ...); }, StepTable<Kind>::kParameters);
}

template <>
struct StepTable<step::RandomFlip> {
  static constexpr std::string_view kName = "image.random_flip", kMeaning = "Left and right.";
  static constexpr std::tuple kParameters{
      Real<step::RandomFlip>{"probability", &step::RandomFlip::probability, 0.5, 0, 1, "", "of flipping an image"}};
};

template <>
struct StepTable<step::RandomVerticalFlip> {
  static constexpr std::string_view kName = "image.random_vertical_flip", kMeaning = "Top and bottom.";
  static constexpr std::tuple kParameters{Real<step::RandomVerticalFlip>{
      "probability", &step::RandomVerticalFlip::probability, 0.5, 0, 1, "", "of flipping an image"}};
};

template <>
struct StepTable<step::ChannelsLast> {
  static constexpr std::string_view kName = "image.channels_last", kMeaning = "(H, W, C) in place of (C, H, W).";
  static constexpr std::tuple<> kParameters{};
};

template <>
struct StepTable<step::Surface> {
  static constexpr std::string_view kName = "points.surface", kMeaning = "Uniform on the triangles of a mesh (OFF).";
  static constexpr std::tuple kParameters{
      Whole<step::Surface>{"points", &step::Surface::points, std::nullopt, 1, kMostWhole, "points", "how many"}};
};

template <>
struct StepTable<step::Finite> {
  static constexpr std::string_view kName = "points.finite",
                                    kMeaning =
                                        "Drops points with a coordinate that is no number, which else is an error.";
  static constexpr std::tuple<> kParameters{};
};

template <>
struct StepTable<step::Center> {
  static constexpr std::string_view kName = "points.center", kMeaning = "The mean moves to (0, 0, 0).";
  static constexpr std::tuple<> kParameters{};
};

template <>
struct StepTable<step::UnitSphere> {
  static constexpr std::string_view kName = "points.unit_sphere",
                                    kMeaning = "Divides by the largest distance from (0, 0, 0).";
  static constexpr std::tuple<> kParameters{};
};

template <>
struct StepTable<step::UnitBox> {
  static constexpr std::string_view kName = "points.unit_box",
                                    kMeaning =
                                        "The middle of the bounds moves to (0, 0, 0), their longest side becomes 2.";
  static constexpr std::tuple<> kParameters{};
};

template <>
struct StepTable<step::Scale> {
  static constexpr std::string_view kName = "points.scale", kMeaning = "Multiplies every coordinate.";
  static constexpr std::tuple kParameters{
      Real<step::Scale>{"factor", &step::Scale::factor, std::nullopt, kLeastReal, kMostReal, "", "the same for all"}};
};

template <>
struct StepTable<step::Jitter> {
  static constexpr std::string_view kName = "points.jitter", kMeaning = "Normal noise on each coordinate, clipped.";
  static constexpr std::tuple kParameters{
      Real<step::Jitter>{"sigma", &step::Jitter::sigma, 0.01, 0, kEndless, "the cloud's unit", "standard deviation"},
      Real<step::Jitter>{"clip", &step::Jitter::clip, 0.05, 0, kEndless, "the cloud's unit", "largest noise"}};
};

template <>
struct StepTable<step::RandomScale> {
  static constexpr std::string_view kName = "points.random_scale",
                                    kMeaning = "Multiplies every coordinate by one uniform number from low to high.";
  static constexpr std::tuple kParameters{
      Real<step::RandomScale>{"low", &step::RandomScale::low, 0.8, kLeastReal, kMostReal, "", "lowest factor"},
      Real<step::RandomScale>{"high", &step::RandomScale::high, 1.25, kLeastReal, kMostReal, "", "highest factor"}};
};

template <>
struct StepTable<step::Shift> {
  static constexpr std::string_view kName = "points.shift",
                                    kMeaning = "Moves the cloud by a uniform number along each axis.";
  static constexpr std::tuple kParameters{Real<step::Shift>{"range", &step::Shift::range, 0.1, 0, kMostReal,
                                                            "the cloud's unit", "farthest to either side"}};
};

template <>
struct StepTable<step::Dropout> {
  static constexpr std::string_view kName = "points.dropout",
                                    kMeaning =
                                        "Draws a ratio; each point, with that probability, becomes the first one.";
  static constexpr std::tuple kParameters{
      Real<step::Dropout>{"most", &step::Dropout::most, 0.875, 0, 1, "", "highest ratio"}};
};

template <>
struct StepTable<step::ShufflePoints> {
  static constexpr std::string_view kName = "points.shuffle", kMeaning = "The order of the points.";
  static constexpr std::tuple<> kParameters{};
};

template <>
struct StepTable<step::Pad> {
  static constexpr std::string_view kName = "points.pad", kMeaning = "Rows of zeros behind the points; see mask().";
  static constexpr std::tuple kParameters{
      Whole<step::Pad>{"points", &step::Pad::points, std::nullopt, 1, kMostWhole, "points", "rows then"}};
};

template <>
struct StepTable<step::ChannelsFirst> {
  static constexpr std::string_view kName = "points.channels_first", kMeaning = "(C, K) in place of (K, C).";
  static constexpr std::tuple<> kParameters{};
};

template <>
struct StepTable<step::Mask> {
  static constexpr std::string_view kName = "points.mask",
                                    kMeaning = "After follow(\"OUTPUT\"): bool (K,), False where pad() filled up.";
  static constexpr std::tuple<> kParameters{};
};

template <>
struct StepTable<step::Origin> {
  static constexpr std::string_view kName = "points.origin",
                                    kMeaning = "float64 (3,): what coordinates are relative to.";
  static constexpr std::tuple<> kParameters{};
};

}  // namespace penstock
