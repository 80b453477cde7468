#include <cstring>

#include <transforms/clouds/laz/items.hpp>
#include <transforms/clouds/laz/items14.hpp>

namespace penstock {
namespace {

class ColourItem final : public LazItem14 {
 public:
  explicit ColourItem(const LazItem& item) : LazItem14(item, item.kind == LazItem::Kind::rgb_nir14 ? 2 : 1) {}

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
  std::array<LazColours, kLazChannels> colours_;
  std::array<Infrared, kLazChannels> infrared_;
};

class WaveItem final : public LazItem14 {
 public:
  explicit WaveItem(const LazItem& item) : LazItem14(item, 1) {}

 private:
  void reset(unsigned channel) override { waves_[channel].reset(); }
  void decode_one(unsigned channel, std::byte* last) override {
    if (layers[0].open) waves_[channel].decode(layers[0].decoder, last);
  }
  std::array<LazWaves, kLazChannels> waves_;
};

class ByteItem final : public LazItem14 {
 public:
  explicit ByteItem(const LazItem& item) : LazItem14(item, item.bytes) {}

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
  std::array<std::vector<SymbolModel<256>>, kLazChannels> models_;
};

}  // namespace

LazItem14::LazItem14(const LazItem& item, std::size_t layer_count)
    : layers(layer_count), last_(kLazChannels, std::vector<std::byte>(item.bytes)), item_(item) {}

void LazItem14::begin(const std::byte* first, unsigned channel) {
  used_ = {};
  current_ = channel;
  start(channel, first + item_.at);
}

void LazItem14::decode(std::byte* out, std::size_t stride, std::size_t count, const std::uint8_t* contexts) {
  for (std::size_t i = 0; i < count; ++i, out += stride) {
    const unsigned before = enter(contexts[i]);
    decode_one(current_, last_[before].data());
    std::memcpy(out + item_.at, last_[before].data(), item_.bytes);
  }
}

void LazItem14::start(unsigned channel, const std::byte* first) {
  used_[channel] = true;
  std::memmove(last_[channel].data(), first, item_.bytes);
  reset(channel);
}

// Enters a channel and returns the channel whose last value predicts the next one. LASzip's version 3 uses the previous
// channel's value when it returns to a used channel.
unsigned LazItem14::enter(unsigned channel) {
  const unsigned before = current_;
  if (channel == before) return before;
  current_ = channel;
  const bool fresh = !used_[channel];
  if (fresh) start(channel, last_[before].data());
  return fresh || item_.version == 4 ? channel : before;
}

std::unique_ptr<LazItem14> laz_item14(const LazItem& item) {
  if (item.kind == LazItem::Kind::byte14) return std::make_unique<ByteItem>(item);
  if (item.kind == LazItem::Kind::wave_packet14) return std::make_unique<WaveItem>(item);
  return std::make_unique<ColourItem>(item);
}

}  // namespace penstock
