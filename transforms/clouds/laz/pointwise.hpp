// The loop over a chunk's points for both generations of pointwise LAZ.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

#include <transforms/clouds/laz/arithmetic_decoder.hpp>
#include <transforms/clouds/laz/chunk.hpp>
#include <transforms/clouds/laz/items.hpp>

namespace penstock {

/// Item POINT10 in the layout of a record.
struct LazPoint10 {
  std::int32_t x, y, z;
  std::uint16_t intensity;
  std::uint8_t returns, classification, angle, user;
  std::uint16_t source;
};
static_assert(sizeof(LazPoint10) == 20);

/// Models of a byte, one for each value of the byte before. A model is reset when it is first used.
class LazByteModels {
 public:
  void reset() { ready_ = {}; }
  std::uint8_t decode(ArithmeticDecoder& decoder, std::uint8_t before) {
    auto& model = models_[before];
    if (!model) model = std::make_unique<SymbolModel<256>>();
    if (!ready_[before]) model->reset();
    ready_[before] = true;
    return static_cast<std::uint8_t>(decoder.symbol(*model));
  }

 private:
  std::array<std::unique_ptr<SymbolModel<256>>, 256> models_;
  std::array<bool, 256> ready_{};
};

/// Decodes all items of each point in turn from one stream. The template arguments have reset(), which takes the first
/// point's bytes or time, and decode(), which returns the next value.
template <class Points, class Times, class Colours, class Bytes>
class PointwiseLazChunks final : public LazChunkDecoder {
 public:
  explicit PointwiseLazChunks(const LazFormat& format) {
    for (const LazItem& item : format.items) {
      bytes_ = item.at + item.bytes;
      if (item.kind == LazItem::Kind::gps_time11) times_at_ = item.at, times_.emplace();
      if (item.kind == LazItem::Kind::rgb12) colours_at_ = item.at, colours_.emplace();
      if (item.kind == LazItem::Kind::wave_packet13) waves_at_ = item.at, waves_.emplace();
      if (item.kind == LazItem::Kind::byte) extra_at_ = item.at, extra_.emplace(item.bytes);
    }
  }

  void begin(std::span<const std::byte> bytes) override {
    if (bytes.size() < bytes_) throw_bad_stream();
    first_ = bytes.data();
    next_ = 0;
    points_.reset(first_);
    if (times_) {
      std::uint64_t first;
      std::memcpy(&first, first_ + times_at_, sizeof first);
      times_->reset(first);
    }
    if (colours_) std::memcpy(colour_.data(), first_ + colours_at_, sizeof colour_), colours_->reset();
    if (waves_) std::memcpy(wave_.data(), first_ + waves_at_, wave_.size()), waves_->reset();
    if (extra_) extra_->reset(first_ + extra_at_);
    rest_ = bytes.subspan(bytes_);
  }

  void decode(std::byte* out, std::size_t stride, std::size_t count) override {
    if (count > 0 && next_ == 0) {
      std::memcpy(out, first_, stride);
      out += stride;
      --count;
      next_ = 1;
    }
    if (count == 0) return;
    if (next_ == 1) decoder_.open(rest_), next_ = 2;
    stride == kLazCoordinates ? decode_more<false>(out, stride, count) : decode_more<true>(out, stride, count);
  }

  const std::byte* end() const override { return next_ == 2 ? decoder_.at() : rest_.data(); }

 private:
  template <bool kWhole>
  void decode_more(std::byte* out, std::size_t stride, std::size_t count) {
    ArithmeticDecoder decoder = decoder_;
    for (std::size_t i = 0; i < count; ++i, out += stride) {
      std::memcpy(out, &points_.decode(decoder), kWhole ? sizeof(LazPoint10) : kLazCoordinates);
      if (times_) {
        const std::uint64_t time = times_->decode(decoder);
        if constexpr (kWhole) std::memcpy(out + times_at_, &time, sizeof time);
      }
      if (colours_) {
        colours_->decode(decoder, colour_);
        if constexpr (kWhole) std::memcpy(out + colours_at_, colour_.data(), sizeof colour_);
      }
      if (waves_) {
        waves_->decode(decoder, wave_.data());
        if constexpr (kWhole) std::memcpy(out + waves_at_, wave_.data(), wave_.size());
      }
      if (extra_) {
        extra_->decode(decoder);
        if constexpr (kWhole) std::memcpy(out + extra_at_, extra_->last().data(), extra_->last().size());
      }
    }
    decoder_ = decoder;
  }

  std::size_t bytes_ = 0;  // length of a record
  Points points_;
  std::optional<Times> times_;
  std::optional<Colours> colours_;
  std::optional<LazWaves> waves_;
  std::optional<Bytes> extra_;
  std::size_t times_at_ = 0, colours_at_ = 0, waves_at_ = 0, extra_at_ = 0;
  LazColour colour_{};
  std::array<std::byte, kLazWaveBytes> wave_{};
  ArithmeticDecoder decoder_;
  std::span<const std::byte> rest_;  // bytes after the first record
  const std::byte* first_ = nullptr;
  int next_ = 0;  // 0: at the first point; 1: stream not opened yet; 2: opened
};

/// Decodes items of version 1, which LASzip wrote until 2010.
std::unique_ptr<LazChunkDecoder> first_laz_chunks(const LazFormat& format);

}  // namespace penstock
