// The options of a loader that decide which samples an epoch delivers, and in which order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace penstock {

class Mixture;
struct Draws;
struct LengthBuckets;
struct Windows;

/// What becomes of the samples that do not fill a batch at the end of an epoch. With several ranks `keep` pads the last
/// batches by repeats, so that all ranks have equally many rows; `__valid__` marks the rows that count.
enum class Last : std::uint8_t { keep, drop, pad };
/// What becomes of a sample that lacks a requested field. `empty`: a raw() output then has a row of no bytes; other
/// outputs raise.
enum class Missing : std::uint8_t { raise, exclude, empty };

std::string_view name(Last last);
std::string_view name(Missing missing);

/// A part of LoaderOptions (penstock/loader/options/options.hpp), where each member is described under the same name.
struct OrderOptions {
  bool shuffle = false;
  std::uint64_t seed = 0;
  std::optional<std::uint64_t> shuffle_block = {};
  std::uint64_t shuffle_window = 0;
  std::uint32_t batch_size = 64, rank = 0, world = 1;
  Last last = Last::keep;
  Missing missing = Missing::raise;
  std::optional<std::span<const std::uint64_t>> subset = {};  ///< must outlive the options
  std::shared_ptr<const Mixture> mixture = {};
  std::shared_ptr<const Draws> draws = {};
  std::shared_ptr<const LengthBuckets> buckets = {};
  std::shared_ptr<const Windows> windows = {};
};

}  // namespace penstock
