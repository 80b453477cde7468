#include <algorithm>
#include <cstring>

#include <transforms/clouds/laz/chunk.hpp>
#include <transforms/clouds/laz/items.hpp>
#include <transforms/clouds/laz/points14.hpp>

namespace penstock {
namespace {

// Number (0 to 5) of a point's history, by number of returns and return number (in this order).
// Source: LAZ Specification, table of item POINT14.
constexpr std::uint8_t kReturnMap[16][16] = {
    {0, 1, 2, 3, 4, 5, 3, 4, 4, 5, 5, 5, 5, 5, 5, 5}, {1, 0, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3},
    {2, 1, 2, 4, 4, 4, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3}, {3, 3, 4, 5, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4},
    {4, 3, 4, 4, 5, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}, {5, 3, 4, 4, 4, 5, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4},
    {3, 3, 4, 4, 4, 4, 5, 4, 4, 4, 4, 4, 4, 4, 4, 4}, {4, 3, 4, 4, 4, 4, 4, 5, 4, 4, 4, 4, 4, 4, 4, 4},
    {4, 3, 4, 4, 4, 4, 4, 4, 5, 4, 4, 4, 4, 4, 4, 4}, {5, 3, 4, 4, 4, 4, 4, 4, 4, 5, 4, 4, 4, 4, 4, 4},
    {5, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5, 4, 4, 4, 4, 4}, {5, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 4, 4, 4},
    {5, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 4, 4}, {5, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 4},
    {5, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5}, {5, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5},
};

constexpr std::size_t kTimeAt = 22;

std::int32_t sum(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

}  // namespace

// The record's fields except the GPS time, which is unaligned there.
struct LazPoints14::Point {
  std::int32_t x, y, z;
  std::uint16_t intensity;
  std::uint8_t returns;  // number of returns << 4 | return number
  std::uint8_t flags;    // edge << 7 | direction << 6 | channel << 4 | classification flags
  std::uint8_t classification, user;
  std::int16_t angle;
  std::uint16_t source;
};

// State and models of a scanner channel.
struct LazPoints14::Channel {
  void reset(const Point& first, std::uint64_t time);

  bool used = false;
  Point last{};
  bool time_changed = false;  // whether the last point's time differed from the one before
  std::uint64_t time = 0;
  std::array<StreamingMedian, 12> steps_x, steps_y;
  std::array<std::int32_t, 8> heights{};
  std::array<std::uint16_t, 8> intensities{};
  std::array<SymbolModel<128>, 8> changed;
  SymbolModel<3> other_channel;
  SymbolModel<13> return_step;
  LazModelsByContext<16, 16> return_count, return_number;
  IntegerDecoder<2> x;
  IntegerDecoder<22> y;
  IntegerDecoder<20> z;
  LazModelsByContext<256, 64> classes, users;
  LazModelsByContext<64, 64> flags;
  IntegerDecoder<4, 16> intensity;
  IntegerDecoder<2, 16> angle;
  IntegerDecoder<1, 16> source;
  LazTimes times;
};

void LazPoints14::Channel::reset(const Point& first, std::uint64_t first_time) {
  used = true;
  last = first;
  time_changed = false;
  time = first_time;
  steps_x = {}, steps_y = {};
  heights.fill(first.z);
  intensities.fill(first.intensity);
  for (auto& model : changed) model.reset();
  other_channel.reset();
  return_step.reset();
  return_count.reset(), return_number.reset();
  x.reset(), y.reset(), z.reset();
  classes.reset(), users.reset(), flags.reset();
  intensity.reset(), angle.reset(), source.reset();
  times.reset(first_time, true);
}

LazPoints14::LazPoints14(unsigned version) : version_(version) {}
LazPoints14::~LazPoints14() = default;

void LazPoints14::begin(const std::byte* first) {
  Point point;
  std::memcpy(&point, first, kTimeAt);
  std::uint64_t time;
  std::memcpy(&time, first + kTimeAt, sizeof time);
  for (auto& channel : channels_) {
    if (channel) channel->used = false;
  }
  current_ = point.flags >> 4 & 3U;
  start(current_, point, time);
}

template <bool kWhole>
void LazPoints14::decode_all(std::byte* out, std::size_t stride, std::size_t count, std::uint8_t* contexts) {
  for (std::size_t i = 0; i < count; ++i, out += stride) {
    contexts[i] = decode_one<kWhole>();
    const Channel& channel = *channels_[current_];
    std::memcpy(out, &channel.last, kWhole ? kTimeAt : kLazCoordinates);
    if constexpr (kWhole) std::memcpy(out + kTimeAt, &channel.time, sizeof channel.time);
  }
}

void LazPoints14::start(unsigned number, const Point& point, std::uint64_t time) {
  if (!channels_[number]) channels_[number] = std::make_unique<Channel>();
  channels_[number]->reset(point, time);
}

template <bool kWhole>
std::uint8_t LazPoints14::decode_one() {
  Channel* channel = channels_[current_].get();
  ArithmeticDecoder& xy = layers[kXY].decoder;
  const unsigned last_number = channel->last.returns & 15U, last_count = channel->last.returns >> 4;
  const unsigned place = (last_number == 1 ? 1U : 0U) + (last_number >= last_count ? 2U : 0U);
  const unsigned changed = xy.symbol(channel->changed[place + (channel->time_changed ? 4 : 0)]);
  if ((changed & 64) != 0) channel = &switch_channel(*channel, xy);
  const bool time_changed = (changed & 16) != 0;
  decode_returns(*channel, xy, changed, time_changed);
  Point& last = channel->last;
  const unsigned number = last.returns & 15U, count = last.returns >> 4;
  decode_xyz(*channel, number, count, time_changed);
  if constexpr (kWhole) {
    const unsigned kind = (number == 1 ? 2U : 0U) + (number >= count ? 1U : 0U);
    decode_rest(*channel, changed, kind, time_changed);
  }
  channel->time_changed = time_changed;
  // In LASzip's version 3, other items use a channel only for the point that switched to it, and channel 0 afterwards.
  return static_cast<std::uint8_t>(version_ == 3 && (changed & 64) == 0 ? 0 : current_);
}

LazPoints14::Channel& LazPoints14::switch_channel(Channel& from, ArithmeticDecoder& xy) {
  current_ = (current_ + xy.symbol(from.other_channel) + 1) & 3;
  if (!channels_[current_] || !channels_[current_]->used) start(current_, from.last, from.time);
  Channel& to = *channels_[current_];
  to.last.flags = static_cast<std::uint8_t>((to.last.flags & ~0x30U) | current_ << 4);
  return to;
}

void LazPoints14::decode_returns(Channel& channel, ArithmeticDecoder& xy, unsigned changed, bool time_changed) {
  unsigned number = channel.last.returns & 15U, count = channel.last.returns >> 4;
  if ((changed & 4) != 0) count = channel.return_count.decode(xy, count);
  switch (changed & 3) {
    case 1:
      number = (number + 1) & 15;
      break;
    case 2:
      number = (number + 15) & 15;
      break;
    case 3:
      number =
          time_changed ? channel.return_number.decode(xy, number) : (number + xy.symbol(channel.return_step) + 2) & 15;
      break;
    default:
      break;
  }
  channel.last.returns = static_cast<std::uint8_t>(count << 4 | number);
}

void LazPoints14::decode_xyz(Channel& channel, unsigned number, unsigned count, bool time_changed) {
  ArithmeticDecoder& xy = layers[kXY].decoder;
  Point& last = channel.last;
  const unsigned history = kReturnMap[count][number] * 2U + (time_changed ? 1 : 0);
  const unsigned single = count == 1 ? 1 : 0;
  const std::int32_t step_x = channel.x.decode(xy, channel.steps_x[history].get(), single);
  last.x = sum(last.x, step_x);
  channel.steps_x[history].add(step_x);
  const unsigned width_x = channel.x.width();
  const std::int32_t step_y =
      channel.y.decode(xy, channel.steps_y[history].get(), single + (width_x < 20 ? width_x & ~1U : 20));
  last.y = sum(last.y, step_y);
  channel.steps_y[history].add(step_y);
  if (!layers[kZ].open) return;
  const unsigned level = std::min(count > number ? count - number : number - count, 7U);
  const unsigned width = (width_x + channel.y.width()) / 2;
  last.z = channel.z.decode(layers[kZ].decoder, channel.heights[level], single + (width < 18 ? width & ~1U : 18));
  channel.heights[level] = last.z;
}

// `kind` is 2 for a first return, 1 for a last one, 3 for a single one.
void LazPoints14::decode_rest(Channel& channel, unsigned changed, unsigned kind, bool time_changed) {
  Point& last = channel.last;
  if (LazLayer& layer = layers[kClass]; layer.open) {
    const unsigned context = (last.classification & 31U) << 1 | (kind == 3 ? 1U : 0U);
    last.classification = static_cast<std::uint8_t>(channel.classes.decode(layer.decoder, context));
  }
  if (LazLayer& layer = layers[kFlags]; layer.open) {
    const unsigned before = (last.flags >> 2 & 0x30U) | (last.flags & 15U);
    const unsigned flags = channel.flags.decode(layer.decoder, before);
    last.flags = static_cast<std::uint8_t>((flags & 0x30) << 2 | (last.flags & 0x30U) | (flags & 15));
  }
  if (LazLayer& layer = layers[kIntensity]; layer.open) {
    std::uint16_t& before = channel.intensities[kind << 1 | (time_changed ? 1U : 0U)];
    before = static_cast<std::uint16_t>(channel.intensity.decode(layer.decoder, before, kind));
    last.intensity = before;
  }
  if (LazLayer& layer = layers[kAngle]; layer.open && (changed & 8) != 0) {
    last.angle = static_cast<std::int16_t>(channel.angle.decode(layer.decoder, last.angle, time_changed ? 1 : 0));
  }
  if (LazLayer& layer = layers[kUser]; layer.open) {
    last.user = static_cast<std::uint8_t>(channel.users.decode(layer.decoder, last.user / 4U));
  }
  if (LazLayer& layer = layers[kSource]; layer.open && (changed & 32) != 0) {
    last.source = static_cast<std::uint16_t>(channel.source.decode(layer.decoder, last.source));
  }
  if (LazLayer& layer = layers[kTime]; layer.open && time_changed) channel.time = channel.times.decode(layer.decoder);
}

void LazPoints14::decode(std::byte* out, std::size_t stride, std::size_t count, bool whole, std::uint8_t* contexts) {
  whole ? decode_all<true>(out, stride, count, contexts) : decode_all<false>(out, stride, count, contexts);
}

}  // namespace penstock
