#include <cstring>

#include <base/numbers/load.hpp>
#include <penstock/error.hpp>
#include <transforms/clouds/laz/items.hpp>

namespace penstock {
namespace {

constexpr std::int32_t kMost = 500, kLeast = -10;  // range of the multiples of the step that have a code
// Number of codes of multiples. The codes after them stand for the same time (not if layered), a time far off, and the
// three other sequences.
constexpr unsigned kMultiples = 511;

std::int32_t times(std::int32_t factor, std::int32_t step) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(factor) * static_cast<std::uint32_t>(step));
}

void advance(std::uint64_t& time, std::int32_t step) {
  time += static_cast<std::uint64_t>(std::int64_t{step});
}

template <class T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

}  // namespace

void throw_bad_stream() {
  throw Error::corrupt("laz: the compressed points are truncated or invalid");
}

void LazTimes::reset(std::uint64_t first, bool layered) {
  sequences_ = {};
  sequences_[0].time = first;
  current_ = newest_ = 0;
  layered_ = layered;
  multiples_.reset(layered ? kMultiples + 4 : kMultiples + 5);
  first_steps_.reset(layered ? 5 : 6);
  integers_.reset();
}

std::uint64_t LazTimes::decode(ArithmeticDecoder& decoder) {
  // Every iteration except the last switches the sequence and consumes a symbol, so the stream's end bounds the loop.
  for (;;) {
    Sequence& sequence = sequences_[current_];
    if (sequence.step == 0 ? after_no_step(decoder, sequence) : after_step(decoder, sequence)) {
      return sequences_[current_].time;
    }
  }
}

bool LazTimes::after_no_step(ArithmeticDecoder& decoder, Sequence& sequence) {
  const unsigned code = decoder.symbol(first_steps_) + (layered_ ? 1 : 0);
  if (code == 1) {
    sequence.step = integers_.decode(decoder, 0, 0);
    advance(sequence.time, sequence.step);
    sequence.extremes = 0;
  } else if (code == 2) {
    jump(decoder, sequence);
  } else if (code > 2) {
    current_ = (current_ + code - 2) & 3;
    return false;
  }
  return true;
}

bool LazTimes::after_step(ArithmeticDecoder& decoder, Sequence& sequence) {
  const unsigned code = decoder.symbol(multiples_), far = layered_ ? kMultiples : kMultiples + 1;
  const auto multiple = static_cast<std::int32_t>(code);
  if (code > far) {
    current_ = (current_ + code - far) & 3;
    return false;
  }
  if (code == far) {
    jump(decoder, sequence);
  } else if (code == 1) {
    advance(sequence.time, integers_.decode(decoder, sequence.step, 1));
    sequence.extremes = 0;
  } else if (code == 0) {
    far_step(sequence, integers_.decode(decoder, 0, 7));
  } else if (multiple < kMost) {
    advance(sequence.time, integers_.decode(decoder, times(multiple, sequence.step), code < 10 ? 2 : 3));
  } else if (multiple == kMost) {
    far_step(sequence, integers_.decode(decoder, times(kMost, sequence.step), 4));
  } else if (kMost - multiple > kLeast) {
    advance(sequence.time, integers_.decode(decoder, times(kMost - multiple, sequence.step), 5));
  } else if (code < kMultiples) {
    far_step(sequence, integers_.decode(decoder, times(kLeast, sequence.step), 6));
  }
  return true;
}

void LazTimes::jump(ArithmeticDecoder& decoder, const Sequence& from) {
  const auto high = integers_.decode(decoder, static_cast<std::int32_t>(from.time >> 32), 8);
  newest_ = (newest_ + 1) & 3;
  sequences_[newest_] = {.time = std::uint64_t{static_cast<std::uint32_t>(high)} << 32 | decoder.bits(32)};
  current_ = newest_;
}

void LazTimes::far_step(Sequence& sequence, std::int32_t step) {
  if (++sequence.extremes > 3) {
    sequence.step = step;
    sequence.extremes = 0;
  }
  advance(sequence.time, step);
}

void LazColours::reset() {
  changed_.reset();
  for (auto& model : differences_) model.reset();
}

void LazColours::decode(ArithmeticDecoder& decoder, LazColour& last) {
  const unsigned changed = decoder.symbol(changed_);
  // Decodes one byte of a channel: the byte before, or `expected` plus a difference.
  auto byte = [&](unsigned number, int before, int expected) {
    if ((changed >> number & 1) == 0) return before;
    return (static_cast<int>(decoder.symbol(differences_[number])) + expected) & 255;
  };
  auto clamped = [](int value) { return std::clamp(value, 0, 255); };
  const int red_low = last[0] & 255, red_high = last[0] >> 8;
  const int low = byte(0, red_low, red_low), high = byte(1, red_high, red_high);
  last[0] = static_cast<std::uint16_t>(high << 8 | low);
  if ((changed & 64) == 0) {  // grey
    last[1] = last[2] = last[0];
    return;
  }
  const int green_low = last[1] & 255, green_high = last[1] >> 8, blue_low = last[2] & 255, blue_high = last[2] >> 8;
  const int low_step = low - red_low, high_step = high - red_high;
  const int new_green_low = byte(2, green_low, clamped(low_step + green_low));
  const int low_mean = (low_step + new_green_low - green_low) / 2;
  const int new_blue_low = byte(4, blue_low, clamped(low_mean + blue_low));
  const int new_green_high = byte(3, green_high, clamped(high_step + green_high));
  const int high_mean = (high_step + new_green_high - green_high) / 2;
  const int new_blue_high = byte(5, blue_high, clamped(high_mean + blue_high));
  last[1] = static_cast<std::uint16_t>(new_green_high << 8 | new_green_low);
  last[2] = static_cast<std::uint16_t>(new_blue_high << 8 | new_blue_low);
}

void LazWaves::reset() {
  indexes_.reset();
  for (auto& model : offset_kinds_) model.reset();
  offsets_.reset();
  sizes_.reset();
  places_.reset();
  axes_.reset();
  last_difference_ = 0;
  last_kind_ = 0;
}

void LazWaves::decode(ArithmeticDecoder& decoder, std::byte* last) {
  last[0] = static_cast<std::byte>(decoder.symbol(indexes_));
  last_kind_ = decoder.symbol(offset_kinds_[last_kind_]);
  auto offset = load<std::uint64_t>(last + 1);
  if (last_kind_ == 1) {
    offset += load<std::uint32_t>(last + 9);
  } else if (last_kind_ == 2) {
    last_difference_ = offsets_.decode(decoder, last_difference_);
    advance(offset, last_difference_);
  } else if (last_kind_ == 3) {
    offset = decoder.bits64();
  }
  store(last + 1, offset);
  store(last + 9, sizes_.decode(decoder, load<std::int32_t>(last + 9)));
  store(last + 13, places_.decode(decoder, load<std::int32_t>(last + 13)));
  for (unsigned axis = 0; axis < 3; ++axis) {
    std::byte* at = last + 17 + 4 * axis;
    store(at, axes_.decode(decoder, load<std::int32_t>(at), axis));
  }
}

}  // namespace penstock
