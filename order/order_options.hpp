// The options of a loader that determine the order of its samples.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <penstock/order.hpp>

namespace penstock {

class Mixture;
struct Windows;

/// The part of LoaderOptions (penstock/options.hpp) that determines the order. `world`, `last`, `draws` and `buckets`
/// are called `world_size`, `last_batch`, `sampler` and `batching` there.
struct OrderOptions {
  bool shuffle = false;
  std::uint64_t seed = 0;
  std::optional<std::uint64_t> shuffle_block = {};
  std::uint64_t shuffle_window = 0;
  std::uint32_t batch_size = 64, rank = 0, world = 1;
  Last last = Last::keep;
  std::optional<std::span<const std::uint64_t>> subset = {};  ///< must outlive the options
  std::shared_ptr<const Mixture> mixture = {};
  std::shared_ptr<const Draws> draws = {};
  std::shared_ptr<const LengthBuckets> buckets = {};
  std::shared_ptr<const Windows> windows = {};
};

}  // namespace penstock
