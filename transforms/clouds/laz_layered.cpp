// LAZ of point formats 6 to 10: a chunk is its first point, then one stream ("layer") for each part of the points.
//
//   first record | points u32 | bytes of each layer u32 | the layers
//   layers: X, Y and returns | Z | classification | flags | intensity | scan angle | user data | point source | GPS
//   time
//           then those of the other items: colours | near infrared | wave packet | one for each extra byte
//
// A layer of no bytes: all points have what the first has. Each scanner channel has models of its own.
#include <cstring>

#include <penstock/formats/error.hpp>
#include <penstock/transforms/clouds/arithmetic_decoder.hpp>
#include <penstock/transforms/clouds/laz_chunk.hpp>
#include <penstock/transforms/clouds/laz_items.hpp>

namespace penstock {
namespace {

constexpr unsigned kChannels = 4;

// Which of 6 histories a point belongs to, by number of returns and return number (in this order).
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

// As the record has it, but for the GPS time, which is not aligned there.
struct Point14 {
  std::int32_t x, y, z;
  std::uint16_t intensity;
  std::uint8_t returns;  // number of returns << 4 | return number
  std::uint8_t flags;    // edge << 7 | direction << 6 | channel << 4 | classification flags
  std::uint8_t classification, user;
  std::int16_t angle;
  std::uint16_t source;
};
constexpr std::size_t kTimeAt = 22;
constexpr std::size_t kPoint14Bytes = 30;

// A layer's stream; closed where it is empty or not wanted.
struct Layer {
  bool wanted = false, open = false;
  ArithmeticDecoder decoder;
};

// Models of a small number; each made ready when first used.
template <unsigned Symbols, unsigned Contexts>
class ModelsByContext {
 public:
  void reset() { ready_ = {}; }
  unsigned decode(ArithmeticDecoder& decoder, unsigned context) {
    if (!ready_[context]) models_[context].reset();
    ready_[context] = true;
    return decoder.symbol(models_[context]);
  }

 private:
  std::array<SymbolModel<Symbols>, Contexts> models_;
  std::array<bool, Contexts> ready_{};
};

enum PointLayer : unsigned { kXY, kZ, kClass, kFlags, kIntensity, kAngle, kUser, kSource, kTime, kPointLayers };

// What one scanner channel remembers of its points, and its models.
struct Channel {
  void reset(const Point14& first, std::uint64_t time);

  bool used = false;
  Point14 last{};
  bool time_changed = false;  // with the last point
  std::uint64_t time = 0;
  std::array<StreamingMedian, 12> steps_x, steps_y;
  std::array<std::int32_t, 8> heights{};
  std::array<std::uint16_t, 8> intensities{};
  std::array<SymbolModel<128>, 8> changed;
  SymbolModel<3> other_channel;
  SymbolModel<13> return_step;
  ModelsByContext<16, 16> return_count, return_number;
  IntegerDecoder<2> x;
  IntegerDecoder<22> y;
  IntegerDecoder<20> z;
  ModelsByContext<256, 64> classes, users;
  ModelsByContext<64, 64> flags;
  IntegerDecoder<4, 16> intensity;
  IntegerDecoder<2, 16> angle;
  IntegerDecoder<1, 16> source;
  LazTimes times;
};

void Channel::reset(const Point14& first, std::uint64_t first_time) {
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

std::int32_t sum(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

class Points {
 public:
  explicit Points(unsigned version) : version_(version) {}
  std::array<Layer, kPointLayers> layers;

  void begin(const std::byte* first) {
    Point14 point;
    std::memcpy(&point, first, kTimeAt);
    std::uint64_t time;
    std::memcpy(&time, first + kTimeAt, sizeof time);
    for (auto& channel : channels_) {
      if (channel) channel->used = false;
    }
    current_ = point.flags >> 4 & 3U;
    start(current_, point, time);
  }
  unsigned channel() const { return current_; }

  // `contexts[i]`: the channel by which other items find their models for point i.
  template <bool kWhole>
  void decode(std::byte* out, std::size_t stride, std::size_t count, std::uint8_t* contexts) {
    for (std::size_t i = 0; i < count; ++i, out += stride) {
      contexts[i] = decode_one<kWhole>();
      const Channel& channel = *channels_[current_];
      std::memcpy(out, &channel.last, kWhole ? kTimeAt : kLazCoordinates);
      if constexpr (kWhole) std::memcpy(out + kTimeAt, &channel.time, sizeof channel.time);
    }
  }

 private:
  void start(unsigned number, const Point14& point, std::uint64_t time) {
    if (!channels_[number]) channels_[number] = std::make_unique<Channel>();
    channels_[number]->reset(point, time);
  }

  template <bool kWhole>
  std::uint8_t decode_one() {
    Channel* channel = channels_[current_].get();
    ArithmeticDecoder& xy = layers[kXY].decoder;
    const unsigned last_number = channel->last.returns & 15U, last_count = channel->last.returns >> 4;
    const unsigned place = (last_number == 1 ? 1U : 0U) + (last_number >= last_count ? 2U : 0U);
    const unsigned changed = xy.symbol(channel->changed[place + (channel->time_changed ? 4 : 0)]);
    if ((changed & 64) != 0) channel = &switch_channel(*channel, xy);
    const bool time_changed = (changed & 16) != 0;
    decode_returns(*channel, xy, changed, time_changed);
    Point14& last = channel->last;
    const unsigned number = last.returns & 15U, count = last.returns >> 4;
    decode_xyz(*channel, number, count, time_changed);
    if constexpr (kWhole) {
      const unsigned kind = (number == 1 ? 2U : 0U) + (number >= count ? 1U : 0U);
      decode_rest(*channel, changed, kind, time_changed);
    }
    channel->time_changed = time_changed;
    // Version 3 forgets the channel after the point that switched to it.
    return static_cast<std::uint8_t>(version_ == 3 && (changed & 64) == 0 ? 0 : current_);
  }

  Channel& switch_channel(Channel& from, ArithmeticDecoder& xy) {
    current_ = (current_ + xy.symbol(from.other_channel) + 1) & 3;
    if (!channels_[current_] || !channels_[current_]->used) start(current_, from.last, from.time);
    Channel& to = *channels_[current_];
    to.last.flags = static_cast<std::uint8_t>((to.last.flags & ~0x30U) | current_ << 4);
    return to;
  }

  static void decode_returns(Channel& channel, ArithmeticDecoder& xy, unsigned changed, bool time_changed) {
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
        number = time_changed ? channel.return_number.decode(xy, number)
                              : (number + xy.symbol(channel.return_step) + 2) & 15;
        break;
      default:
        break;
    }
    channel.last.returns = static_cast<std::uint8_t>(count << 4 | number);
  }

  void decode_xyz(Channel& channel, unsigned number, unsigned count, bool time_changed) {
    ArithmeticDecoder& xy = layers[kXY].decoder;
    Point14& last = channel.last;
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

  // `kind`: 2 for a first return, 1 for a last one, 3 for a single one.
  void decode_rest(Channel& channel, unsigned changed, unsigned kind, bool time_changed) {
    Point14& last = channel.last;
    if (Layer& layer = layers[kClass]; layer.open) {
      const unsigned context = (last.classification & 31U) << 1 | (kind == 3 ? 1U : 0U);
      last.classification = static_cast<std::uint8_t>(channel.classes.decode(layer.decoder, context));
    }
    if (Layer& layer = layers[kFlags]; layer.open) {
      const unsigned before = (last.flags >> 2 & 0x30U) | (last.flags & 15U);
      const unsigned flags = channel.flags.decode(layer.decoder, before);
      last.flags = static_cast<std::uint8_t>((flags & 0x30) << 2 | (last.flags & 0x30U) | (flags & 15));
    }
    if (Layer& layer = layers[kIntensity]; layer.open) {
      std::uint16_t& before = channel.intensities[kind << 1 | (time_changed ? 1U : 0U)];
      before = static_cast<std::uint16_t>(channel.intensity.decode(layer.decoder, before, kind));
      last.intensity = before;
    }
    if (Layer& layer = layers[kAngle]; layer.open && (changed & 8) != 0) {
      last.angle = static_cast<std::int16_t>(channel.angle.decode(layer.decoder, last.angle, time_changed ? 1 : 0));
    }
    if (Layer& layer = layers[kUser]; layer.open) {
      last.user = static_cast<std::uint8_t>(channel.users.decode(layer.decoder, last.user / 4U));
    }
    if (Layer& layer = layers[kSource]; layer.open && (changed & 32) != 0) {
      last.source = static_cast<std::uint16_t>(channel.source.decode(layer.decoder, last.source));
    }
    if (Layer& layer = layers[kTime]; layer.open && time_changed) channel.time = channel.times.decode(layer.decoder);
  }

  unsigned version_;
  unsigned current_ = 0;
  std::array<std::unique_ptr<Channel>, kChannels> channels_;
};

// Layers of an item beside POINT14: last values and models for each channel.
class OtherItem {
 public:
  OtherItem(const LazItem& item, std::size_t layer_count)
      : layers(layer_count), last_(kChannels, std::vector<std::byte>(item.bytes)), item_(item) {}
  virtual ~OtherItem() = default;
  std::vector<Layer> layers;
  const LazItem& item() const { return item_; }

  void begin(const std::byte* first, unsigned channel) {
    used_ = {};
    current_ = channel;
    start(channel, first + item_.at);
  }

  void decode(std::byte* out, std::size_t stride, std::size_t count, const std::uint8_t* contexts) {
    for (std::size_t i = 0; i < count; ++i, out += stride) {
      const unsigned before = enter(contexts[i]);
      decode_one(current_, last_[before].data());
      std::memcpy(out + item_.at, last_[before].data(), item_.bytes);
    }
  }

 private:
  virtual void reset(unsigned channel) = 0;
  virtual void decode_one(unsigned channel, std::byte* last) = 0;

  void start(unsigned channel, const std::byte* first) {
    used_[channel] = true;
    std::memmove(last_[channel].data(), first, item_.bytes);
    reset(channel);
  }

  // Whose last value the next one is coded by. Version 3 takes that of the channel before when it comes back to one.
  unsigned enter(unsigned channel) {
    const unsigned before = current_;
    if (channel == before) return before;
    current_ = channel;
    const bool fresh = !used_[channel];
    if (fresh) start(channel, last_[before].data());
    return fresh || item_.version == 4 ? channel : before;
  }

  std::vector<std::vector<std::byte>> last_;
  LazItem item_;
  std::array<bool, kChannels> used_{};
  unsigned current_ = 0;
};

class ColourItem final : public OtherItem {
 public:
  explicit ColourItem(const LazItem& item) : OtherItem(item, item.kind == LazItem::Kind::rgb_nir14 ? 2 : 1) {}

 private:
  void reset(unsigned channel) override {
    colours_[channel].reset();
    infrared_[channel].changed.reset();
    for (auto& model : infrared_[channel].differences) model.reset();
  }
  void decode_one(unsigned channel, std::byte* last) override {
    if (layers[0].open) {
      LazColour colour;
      std::memcpy(colour.data(), last, sizeof colour);
      colours_[channel].decode(layers[0].decoder, colour);
      std::memcpy(last, colour.data(), sizeof colour);
    }
    if (layers.size() < 2 || !layers[1].open) return;
    const unsigned changed = layers[1].decoder.symbol(infrared_[channel].changed);
    for (unsigned i = 0; i < 2; ++i) {
      if ((changed >> i & 1) == 0) continue;
      const unsigned difference = layers[1].decoder.symbol(infrared_[channel].differences[i]);
      last[6 + i] = static_cast<std::byte>(static_cast<unsigned>(last[6 + i]) + difference);
    }
  }

  struct Infrared {
    SymbolModel<4> changed;
    std::array<SymbolModel<256>, 2> differences;
  };
  std::array<LazColours, kChannels> colours_;
  std::array<Infrared, kChannels> infrared_;
};

class WaveItem final : public OtherItem {
 public:
  explicit WaveItem(const LazItem& item) : OtherItem(item, 1) {}

 private:
  void reset(unsigned channel) override { waves_[channel].reset(); }
  void decode_one(unsigned channel, std::byte* last) override {
    if (layers[0].open) waves_[channel].decode(layers[0].decoder, last);
  }
  std::array<LazWaves, kChannels> waves_;
};

class ByteItem final : public OtherItem {
 public:
  explicit ByteItem(const LazItem& item) : OtherItem(item, item.bytes) {}

 private:
  void reset(unsigned channel) override {
    models_[channel].resize(layers.size());
    for (auto& model : models_[channel]) model.reset();
  }
  void decode_one(unsigned channel, std::byte* last) override {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (!layers[i].open) continue;
      last[i] = static_cast<std::byte>(static_cast<unsigned>(last[i]) + layers[i].decoder.symbol(models_[channel][i]));
    }
  }
  std::array<std::vector<SymbolModel<256>>, kChannels> models_;
};

std::unique_ptr<OtherItem> other_item(const LazItem& item) {
  if (item.kind == LazItem::Kind::byte14) return std::make_unique<ByteItem>(item);
  if (item.kind == LazItem::Kind::wave_packet14) return std::make_unique<WaveItem>(item);
  return std::make_unique<ColourItem>(item);
}

class LayeredChunks final : public LazChunkDecoder {
 public:
  LayeredChunks(const LazFormat& format, const std::vector<bool>& wanted) : points_(format.items.at(0).version) {
    auto any = [&](std::size_t begin, std::size_t end) {
      return std::find(wanted.begin() + static_cast<std::ptrdiff_t>(begin),
                       wanted.begin() + static_cast<std::ptrdiff_t>(end),
                       true) != wanted.begin() + static_cast<std::ptrdiff_t>(end);
    };
    constexpr std::array<std::array<std::size_t, 2>, kPointLayers> kBytes{
        {{0, 8}, {8, 12}, {16, 17}, {15, 16}, {12, 14}, {18, 20}, {17, 18}, {20, 22}, {22, 30}}};
    for (unsigned i = 0; i < kPointLayers; ++i) {
      points_.layers[i].wanted = i <= kZ || any(kBytes[i][0], kBytes[i][1]);
      layers_.push_back(&points_.layers[i]);
    }
    whole_ = any(kLazCoordinates, wanted.size());
    for (std::size_t i = 1; i < format.items.size(); ++i) add(format.items[i], any);
    record_bytes_ = format.items.back().at + format.items.back().bytes;
  }

  void begin(std::span<const std::byte> bytes) override {
    const std::uint64_t head = record_bytes_ + 4 + 4 * layers_.size();
    if (bytes.size() < head) throw_bad_stream();
    std::memcpy(&left_, bytes.data() + record_bytes_, sizeof left_);
    first_ = bytes.data();
    at_first_ = true;
    std::uint64_t at = head;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      std::uint32_t length;
      std::memcpy(&length, bytes.data() + record_bytes_ + 4 + 4 * i, sizeof length);
      if (length > bytes.size() - at) throw_bad_stream();
      layers_[i]->open = layers_[i]->wanted && length > 0;
      if (layers_[i]->open) layers_[i]->decoder.open(bytes.subspan(at, length));
      at += length;
    }
    end_ = bytes.data() + at;
    points_.begin(first_);
    for (auto& item : items_) item->begin(first_, points_.channel());
  }

  void decode(std::byte* out, std::size_t stride, std::size_t count) override {
    if (count > left_) throw_bad_stream();
    left_ -= static_cast<std::uint32_t>(count);
    if (count > 0 && at_first_) {
      std::memcpy(out, first_, stride);
      out += stride;
      --count;
      at_first_ = false;
    }
    if (count > 0 && !points_.layers[kXY].open) throw_bad_stream();
    contexts_.resize(std::max(contexts_.size(), count));
    if (stride == kLazCoordinates || !whole_) return points_.decode<false>(out, stride, count, contexts_.data());
    points_.decode<true>(out, stride, count, contexts_.data());
    for (auto& item : items_) item->decode(out, stride, count, contexts_.data());
  }

  const std::byte* end() const override { return end_; }

 private:
  template <class Any>
  void add(const LazItem& item, Any any) {
    auto other = other_item(item);
    bool needed = false;
    for (std::size_t i = 0; i < other->layers.size(); ++i) {
      // Of colours, near infrared (its bytes 6 and 7) has a layer; extra bytes have one each; else one is all.
      std::size_t begin = item.at, end = item.at + item.bytes;
      if (item.kind == LazItem::Kind::byte14) begin += i, end = begin + 1;
      if (item.kind == LazItem::Kind::rgb_nir14) begin += 6 * i, end = begin + (i == 0 ? 6 : 2);
      other->layers[i].wanted = any(begin, end);
      needed = needed || other->layers[i].wanted;
    }
    for (Layer& layer : other->layers) layers_.push_back(&layer);
    (needed ? items_ : unneeded_).push_back(std::move(other));
  }

  Points points_;
  std::vector<std::unique_ptr<OtherItem>> items_, unneeded_;
  std::vector<Layer*> layers_;  // in the order of the file
  std::size_t record_bytes_ = 0;
  bool whole_ = false;  // more than X, Y and Z is wanted
  const std::byte *first_ = nullptr, *end_ = nullptr;
  bool at_first_ = true;
  std::uint32_t left_ = 0;  // points of the chunk
  std::vector<std::uint8_t> contexts_;
};

}  // namespace

std::unique_ptr<LazChunkDecoder> layered_laz_chunks(const LazFormat& format, const std::vector<bool>& wanted) {
  return std::make_unique<LayeredChunks>(format, wanted);
}

}  // namespace penstock
