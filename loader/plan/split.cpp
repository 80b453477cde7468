#include <algorithm>

#include <penstock/loader/plan/permutation_rounds.hpp>
#include <penstock/loader/plan/split.hpp>

namespace penstock {
namespace {

__extension__ using Product = unsigned __int128;

// a * b / c, which fits where a * b / c < 2^64. A division of 64 bits takes a third of the time.
std::uint64_t scaled(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t add = 0) {
  if (((a | b) >> 32) == 0 && add <= c) return (a * b + add) / c;
  return static_cast<std::uint64_t>((Product{a} * b + add) / c);
}

}  // namespace

Split::Split(const Options& options)
    : light_(options.light),
      both_(options.both),
      length_(options.length),
      key_(options.key),
      narrow_(options.narrow),
      light_length_(light_of(light_, both_, length_)) {}

std::uint64_t Split::light_of(std::uint64_t light, std::uint64_t both, std::uint64_t length) {
  return scaled(length, 2 * light, 2 * both, both - 1);
}

std::uint64_t Split::interval_of(std::uint64_t position) const {
  return scaled(position, light_, both_);
}

std::uint64_t Split::begin_of(std::uint64_t interval) const {
  return scaled(interval, both_, light_, light_ - 1);
}

std::uint64_t Split::light_at(std::uint64_t index) const {
  std::uint64_t begin = begin_of(index);
  std::uint64_t room = std::min(begin_of(index + 1), length_) - begin;
  if (narrow_) {
    const std::uint64_t middle = std::max<std::uint64_t>(room / 8, 1);
    begin += (room - middle) / 2;
    room = middle;
  }
  const std::uint64_t draw = mix(key_ + index * kGolden) >> 32;
  return begin + scaled(draw, room, std::uint64_t{1} << 32);
}

Split::Side Split::side_of(std::uint64_t position) const {
  const std::uint64_t interval = interval_of(position);
  if (interval >= light_length_) return {false, position - light_length_};
  const std::uint64_t light = light_at(interval);
  if (light == position) return {true, interval};
  return {false, position - interval - (light < position ? 1 : 0)};
}

std::uint64_t Split::light_before(std::uint64_t end) const {
  const std::uint64_t interval = interval_of(end);
  if (interval >= light_length_) return light_length_;
  return interval + (light_at(interval) < end ? 1 : 0);
}

std::uint64_t Split::heavy_at(std::uint64_t index) const {
  // As many of the lighter group lie before it as have no more than `index` of the heavier one before them.
  std::uint64_t before = std::min(scaled(index, light_, both_ - light_), light_length_);
  while (before > 0 && light_at(before - 1) - (before - 1) > index) --before;
  while (before < light_length_ && light_at(before) - before <= index) ++before;
  return index + before;
}

}  // namespace penstock
