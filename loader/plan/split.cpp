#include <algorithm>

#include <penstock/base/numbers/wide.hpp>
#include <penstock/loader/plan/permutation_rounds.hpp>
#include <penstock/loader/plan/split.hpp>

namespace penstock {
namespace {

// a * b / c, which fits where a * b / c < 2^64. A division of 64 bits takes a third of the time.
std::uint64_t scaled(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t add = 0) {
  std::uint64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(product, add, &product)) return product / c;
  return static_cast<std::uint64_t>((Wide{a} * b + add) / c);
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

// The lighter group's position in a whole interval, or in the last one where it has one there.
std::uint64_t Split::drawn_in(std::uint64_t interval, std::uint64_t begin, std::uint64_t end) const {
  std::uint64_t room = std::min(end, length_) - begin;
  if (narrow_) {
    const std::uint64_t middle = std::max<std::uint64_t>(room / 8, 1);
    begin += (room - middle) / 2;
    room = middle;
  }
  const std::uint64_t draw = mix(key_ + interval * kGolden) >> 32;
  return begin + static_cast<std::uint64_t>(Wide{draw} * room >> 32);
}

void Split::go_to(std::uint64_t position) {
  const bool follows = position == interval_.end;
  const std::uint64_t number = follows ? interval_.number + 1 : interval_of(position);
  const std::uint64_t begin = follows ? interval_.end : begin_of(number), end = begin_of(number + 1);
  interval_ = {number, begin, end, number < light_length_ ? drawn_in(number, begin, end) : ~std::uint64_t{0}};
}

std::uint64_t Split::light_at(std::uint64_t index) {
  const std::uint64_t begin = index == next_interval_ ? next_begin_ : begin_of(index);
  next_interval_ = index + 1;
  next_begin_ = begin_of(index + 1);
  return drawn_in(index, begin, next_begin_);
}

std::uint64_t Split::light_before(std::uint64_t end) const {
  const std::uint64_t interval = interval_of(end);
  if (interval >= light_length_) return light_length_;
  return interval + (drawn_in(interval, begin_of(interval), begin_of(interval + 1)) < end ? 1 : 0);
}

std::uint64_t Split::end_of_run(std::uint64_t before) {
  return before < light_length_ ? light_at(before) - before : ~std::uint64_t{0};
}

// As many of the lighter group lie before an index as have no more than that of the heavier one before them.
void Split::go_to_run(std::uint64_t index) {
  if (index != run_.end || index == 0) {
    run_.before = std::min(scaled(index, light_, both_ - light_), light_length_);
    while (run_.before > 0 && end_of_run(run_.before - 1) > index) --run_.before;
    run_.begin = run_.before > 0 ? end_of_run(run_.before - 1) : 0;
    run_.end = end_of_run(run_.before);
  }
  while (run_.end <= index) run_ = {run_.before + 1, run_.end, end_of_run(run_.before + 1)};
}

}  // namespace penstock
